import { CallFailed } from '../api/call.ts';

/** Says what went wrong, in the words of the app. */
export function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The wrong fields that a failure names, with a fault each. */
export function faultsOf(error: unknown): CallFailed['errors'] {
  return error instanceof CallFailed ? error.errors : [];
}

/** The wrong fields that a refusal of the app names, and why. */
export function FieldErrors({ error, but = new Set() }: { error: unknown; but?: ReadonlySet<string> }) {
  const errors = faultsOf(error).filter(({ field }) => !but.has(field));
  if (errors.length === 0) return null;
  return (
    <ul>
      {errors.map(({ field, error: text }) => (
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
