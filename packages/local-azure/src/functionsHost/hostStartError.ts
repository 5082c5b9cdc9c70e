/** The app cannot be hosted. The message says why; it needs no stack trace. */
export class HostStartError extends Error {
  override name = 'HostStartError';
}

/** A function needs something that Azure has and this host lacks. With `--skip-unsupported` the host runs without the function. */
export class Unsupported extends HostStartError {
  override name = 'Unsupported';
}
