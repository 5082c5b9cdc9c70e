/** The app cannot be hosted. The message says why; it needs no stack trace. */
export class HostStartError extends Error {
  override name = 'HostStartError';
}
