import { CallFailed } from '../api/call.ts';

/** What went wrong, in the words of the app. */
export function failureText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A failed look: what went wrong, and a button to try again. */
export function Failure({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{failureText(error)}</p>
      {error instanceof CallFailed && error.errors.length > 0 && (
        <ul>
          {error.errors.map(({ field, error: text }) => (
            <li key={field}>
              <code>{field}</code>: {text}
            </li>
          ))}
        </ul>
      )}
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}
