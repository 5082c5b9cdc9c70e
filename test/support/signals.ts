/**
 * Whether processes cannot be sent the signals that some tests are about: on Windows SIGTERM ends a process at once,
 * whatever it listens for, and SIGSTOP is not there (https://nodejs.org/api/process.html#signal-events).
 */
export const noSignals = process.platform === 'win32';
