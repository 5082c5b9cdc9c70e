import { type ChildProcess, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

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

/**
 * Stops a process (SIGSTOP). Resolves once all of its threads stand still: until a busy machine gives a turn to the one that
 * passes the signal on, the others go on and answer requests.
 */
export async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!threadStates(pid).every((state) => /^[TtZ]/.test(state))) await delay(1);
}

function threadStates(pid: number): string[] {
  if (process.platform !== 'linux') {
    return [execFileSync('ps', ['-o', 'state=', '-p', `${pid}`], { encoding: 'utf8' })];
  }
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      // The state follows the name, which may have blanks and brackets in it.
      return stat.replace(/^.*\) /s, '');
    } catch {
      return 'Z, it has ended meanwhile';
    }
  });
}
