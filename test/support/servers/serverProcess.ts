import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endWithProcess } from '../endWithProcess.ts';
import { removeFolder } from '../removeFolder.ts';
import { stop } from '../signals.ts';

/** A server that a test has started, in a folder of its own. */
export interface ServerProcess extends AsyncDisposable {
  /** Its temporary folder. */
  folder: string;
  /** Everything it has written so far. */
  output: () => string;
  /** Stops it in the middle of whatever it does, and lets it go on. */
  freeze: () => Promise<void>;
  thaw: () => void;
  /** Ends it at once (SIGKILL). */
  kill: () => Promise<void>;
  /** Starts it on the data in its folder, after `kill`. */
  start: () => Promise<void>;
  /** Ends it at once and deletes its data. It starts without any. */
  loseData: () => Promise<void>;
}

export interface ServerProgram {
  /** The name in messages and of the folder. */
  name: string;
  command: string;
  /** Arguments, given the folder. */
  args: (folder: string) => readonly string[];
  /** Prepares the folder, once. */
  prepare?: (folder: string, as: RunAs) => Promise<void>;
  /** Resolves when the server can be used, rejects while it cannot. */
  ready: () => Promise<unknown>;
  /** Some servers refuse to run as root. With this they run as nobody then. */
  neverRoot?: boolean;
}

/** Options of `spawn` for the user that the server runs as. */
export type RunAs = { uid: number; gid: number } | Record<string, never>;

const nobody = 65534;
const readyWithinMs = 60_000;

/** Starts a server and waits until it is ready. It ends with this process at the latest, and its folder with it. */
export async function startServer(program: ServerProgram): Promise<ServerProcess> {
  const { name, command, args, prepare, ready, neverRoot = false } = program;
  const folder = await mkdtemp(join(tmpdir(), `payonce-${name}-`));
  const as: RunAs = neverRoot && process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if ('uid' in as) chownSync(folder, as.uid, as.gid);
  await prepare?.(folder, as);
  let child: ChildProcess | undefined;
  let output = '';
  const ending = endWithProcess(() => child?.kill('SIGKILL'));

  async function start(): Promise<void> {
    const started = spawn(command, args(folder), { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], ...as });
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-20_000)));
    }
    const failed = new Promise<never>((_, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`${name} ended with code ${code}:\n${output}`)));
    });
    failed.catch(() => {});
    await Promise.race([failed, becomeReady()]);
  }

  async function becomeReady(): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      try {
        await ready();
        return;
      } catch (error) {
        if (performance.now() - startedAt > readyWithinMs) {
          throw new Error(`${name} is not ready after ${readyWithinMs / 1000} s:\n${output}`, {
            cause: error,
          });
        }
        await delay(50);
      }
    }
  }

  async function kill(): Promise<void> {
    const ended = child;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    const exited = new Promise((resolve) => ended.once('exit', resolve));
    ended.kill('SIGKILL');
    await exited;
  }

  async function dispose(): Promise<void> {
    await kill();
    ending[Symbol.dispose]();
    await removeFolder(folder);
  }

  async function loseData(): Promise<void> {
    await kill();
    for (const entry of await readdir(folder)) await removeFolder(join(folder, entry));
    await prepare?.(folder, as);
  }

  try {
    await start();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    folder,
    output: () => output,
    freeze: async () => {
      if (child?.pid !== undefined) await stop(child.pid);
    },
    thaw: () => void child?.kill('SIGCONT'),
    kill,
    start,
    loseData,
    [Symbol.asyncDispose]: dispose,
  };
}
