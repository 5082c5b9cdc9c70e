import { announce } from './Announcements.tsx';

/** An id, and a button that copies it. */
export function CopyId({ id }: { id: string }) {
  return (
    <span class="copy-id">
      <code>{id}</code>
      <button type="button" class="icon" aria-label={`Copy ${id}`} title="Copy" onClick={() => void copy(id)}>
        ⧉
      </button>
    </span>
  );
}

async function copy(id: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(id);
    announce('Copied.');
  } catch {
    announce('The browser does not let this page copy.');
  }
}
