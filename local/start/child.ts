import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

export interface Child {
  name: string;
  process: ChildProcess;
  exited: Promise<number | null>;
  /** File with all of its output. */
  logFile: string;
  /** Ends it cleanly, or by force after `graceMs`. Resolves once its log is complete and closed. */
  stop(graceMs: number): Promise<void>;
}

/** Milliseconds a process may take to print `ready`. */
const startTimeoutMs = 60_000;

/**
 * Starts a Node program of this project and resolves once it prints the line `ready`. Its output goes to
 * `logFile`; if it ends before it is ready, the error carries the tail of the output.
 */
export async function startChild(
  name: string,
  args: readonly string[],
  { env = {}, logFile }: { env?: Record<string, string>; logFile: string },
): Promise<Child> {
  // Without the --, Node takes an --env-file after the script's name for its own.
  const child = spawn(process.execPath, ['--', ...args], {
    env: { ...process.env, ...env },
    // Keeps it out of the terminal's process group: Ctrl-C reaches only the parent, which stops its children
    // in order.
    detached: true,
    // Closing the channel tells it to end; on Windows no signal can (../onStopAsked.ts).
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const log = createWriteStream(logFile);
  const outputs = [child.stdout, child.stderr].flatMap((stream) => stream ?? []);
  // Do not wait for the process's `close` event: it never comes if this side closes the channel.
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
    logFile,
    async stop(graceMs) {
      if (child.connected) child.disconnect();
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await logged;
      clearTimeout(force);
    },
  };
}
