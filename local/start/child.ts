import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

export interface Child {
  name: string;
  process: ChildProcess;
  exited: Promise<number | null>;
  /** Ends it in good order, and by force when that takes longer than `graceMs`; its log is complete then, and closed. */
  stop(graceMs: number): Promise<void>;
}

/** How long a process may take until it says `ready`, in milliseconds. */
const startTimeoutMs = 60_000;

/**
 * Starts a Node program of this project and resolves once it has printed the line `ready`. What it prints goes to
 * `logFile`; when it ends before that, the error carries the end of it.
 */
export async function startChild(
  name: string,
  args: readonly string[],
  { env = {}, logFile }: { env?: Record<string, string>; logFile: string },
): Promise<Child> {
  // Node looks for its own --env-file behind the script's name too, unless -- stands before that.
  const child = spawn(process.execPath, ['--', ...args], {
    env: { ...process.env, ...env },
    // Out of the terminal's process group: Ctrl-C reaches only the parent, which ends its children in order.
    detached: true,
    // The channel tells it to end by closing: a signal could not do that on Windows (../onStopAsked.ts).
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const log = createWriteStream(logFile);
  const outputs = [child.stdout, child.stderr].flatMap((stream) => stream ?? []);
  // Not on the event `close` of the process: that does not come when it is this side that closes the channel.
  const logged = Promise.all(outputs.map((stream) => once(stream, 'close'))).then(() => {
    log.end();
    return once(log, 'close');
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  let tail = '';
  const ready = Promise.withResolvers<void>();
  const read = (chunk: Buffer) => {
    log.write(chunk);
    tail = (tail + chunk.toString()).slice(-4_000);
    if (/^ready$/m.test(tail)) ready.resolve();
  };
  for (const stream of outputs) stream.on('data', read);
  child.once('error', ready.reject);
  child.once('exit', (code) => ready.reject(new Error(`${name} ended with code ${code} at start:\n${tail}`)));
  const timer = setTimeout(
    () => ready.reject(new Error(`${name} is not ready after 60 s:\n${tail}`)),
    startTimeoutMs,
  );
  try {
    await ready.promise;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return {
    name,
    process: child,
    exited,
    async stop(graceMs) {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await logged;
      clearTimeout(force);
    },
  };
}
