/** The app cannot be hosted as it is; the message says why and needs no stack trace. */
export class HostStartError extends Error {
  override name = 'HostStartError';
}
