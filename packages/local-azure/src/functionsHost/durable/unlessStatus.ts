/**
 * A `catch` handler that swallows the errors with these HTTP statuses and rethrows all others: for requests
 * that came too late to matter.
 */
export function unlessStatus(...statuses: number[]): (error: unknown) => undefined {
  return (error) => {
    const status =
      error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
        ? error.statusCode
        : undefined;
    if (status === undefined || !statuses.includes(status)) throw error;
  };
}
