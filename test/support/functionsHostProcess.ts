import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { noSignals, signalTree } from './signals.ts';

const main = fileURLToPath(new URL('../../packages/local-azure/src/functionsHost/main.ts', import.meta.url));
/** Keeps a host away from the settings of a local cloud that runs alongside the tests. */
export const noSettings = fileURLToPath(new URL('noSettings.env', import.meta.url));

/**
 * The environment that a process of the tests has from its parent: where programs are, and where Node keeps
 * compiled code.
 */
export function surroundings(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) };
}

export interface HostProcess extends AsyncDisposable {
  /** Base URL of its HTTP server. */
  address: string;
  /** Everything printed so far. */
  lines: string[];
  /** Resolves with the first line that matches, already printed or still to come. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** The exit code, or null if a signal ended it. */
  exited: Promise<number | null>;
}

export interface HostProcessOptions {
  app: string;
  env: Record<string, string>;
  args?: string[];
  /** `none`: the settings come from where a person's would, in an empty folder. Default: an empty file. */
  envFile?: 'none';
}

function spawnHost({ app, env, args = [], envFile }: HostProcessOptions) {
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const child = spawn(
    process.execPath,
    [
      '--',
      main,
      '--port',
      '0',
      '--app',
      app,
      ...(envFile === 'none' ? [] : ['--env-file', noSettings]),
      ...args,
    ],
    {
      env: { ...surroundings(), ...env },
      // The folder of the app has no settings of a local cloud.
      ...(envFile === 'none' ? { cwd: app } : {}),
      // A group of its own: a signal then reaches the host and its worker, as when a machine stops.
      detached: !noSignals,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      for (const check of watchers) check();
    });
  }
  const exited = once(child, 'close').then(([code]) => code as number | null);

  function line(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      let checked = 0;
      const check = () => {
        for (; checked < lines.length; checked++) {
          const match = pattern.exec(lines[checked] ?? '');
          if (match === null) continue;
          watchers.delete(check);
          resolve(match);
          return;
        }
      };
      watchers.add(check);
      check();
      void exited.then((code) =>
        reject(new Error(`the host ended with ${code} before it printed ${pattern}:\n${lines.join('\n')}`)),
      );
    });
  }
  return { child, lines, line, exited };
}

/** Starts a Functions host as a child process; resolves once it prints `ready`. */
export async function startHostProcess(options: HostProcessOptions): Promise<HostProcess> {
  const { child, lines, line, exited } = spawnHost(options);
  await line(/^ready$/);
  const [, address = ''] = await line(/ on (http:\S+)$/);
  return {
    address,
    lines,
    line,
    exited,
    kill: (signal) => signalTree(child, signal),
    async [Symbol.asyncDispose]() {
      signalTree(child, 'SIGKILL');
      await exited;
    },
  };
}

/** Starts a host that should fail to start; resolves with its exit code and output. */
export async function runFailingHost(
  options: HostProcessOptions,
): Promise<{ code: number | null; output: string }> {
  const { lines, exited } = spawnHost(options);
  const code = await exited;
  return { code, output: lines.join('\n') };
}
