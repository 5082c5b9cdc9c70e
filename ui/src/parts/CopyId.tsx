import { announce } from './Announcements.tsx';

/** An id, and a button that copies it. */
export function CopyId({ id }: { id: string }) {
  return (
    <span class="copy-id">
      <code>{id}</code>
      <button type="button" class="icon" aria-label={`Copy ${id}`} title="Copy" onClick={() => void copy(id)}>
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <path d="M5 5h8v9H5zM3 11V2h8" fill="none" stroke="currentColor" stroke-width="1.5" />
        </svg>
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
