/**
 * What an error says, in one line for people. Never empty: Node rejects a connection to a name with several addresses with
 * an `AggregateError` that has no message of its own, only those of its parts.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(errorText))].join('; ');
  }
  return error.name;
}
