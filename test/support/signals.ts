import type { ChildProcess } from 'node:child_process';

/**
 * True where tests that send signals cannot work. On Windows SIGTERM kills a process at once, whatever its
 * handlers, and SIGSTOP does not exist (https://nodejs.org/api/process.html#signal-events).
 */
export const noSignals = process.platform === 'win32';

/** Signals a process that leads a group of its own (`detached`), and those it has started. */
export function signalTree(child: ChildProcess, signal: NodeJS.Signals): void {
  if (noSignals || child.pid === undefined) {
    child.kill(signal);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // All of them have ended.
  }
}
