import { CallFailed } from '../api/call.ts';

/** Says what went wrong, in the words of the app. */
export function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The wrong fields that a refusal of the app names, and why. */
export function FieldErrors({ error }: { error: unknown }) {
  if (!(error instanceof CallFailed) || error.errors.length === 0) return null;
  return (
    <ul>
      {error.errors.map(({ field, error: text }) => (
        <li key={`${field} ${text}`}>
          <code>{field}</code>: {text}
        </li>
      ))}
    </ul>
  );
}

/** A failed look: what went wrong, and a button to try again. */
export function Failure({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{failureText(error)}</p>
      <FieldErrors error={error} />
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}
