/**
 * An error's message, in one line for people. Never empty: if a host name has several addresses, Node rejects the
 * connection with an `AggregateError` without a message. Only its parts have messages.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(errorText))].join('; ');
  }
  return error.name;
}
