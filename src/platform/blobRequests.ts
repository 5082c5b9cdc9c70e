/** Milliseconds for one request to Blob Storage with its retries. */
const timeoutMs = 20_000;

/** Creates the option of a request to Blob Storage that makes it end in time. */
export function inTime(): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(timeoutMs) };
}

/** The status with which Blob Storage refused a request; undefined if it gave no answer. */
export function blobStatus(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;
}
