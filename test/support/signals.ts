/**
 * True where tests that send signals cannot work. On Windows SIGTERM kills a process at once, whatever its
 * handlers, and SIGSTOP does not exist (https://nodejs.org/api/process.html#signal-events).
 */
export const noSignals = process.platform === 'win32';
