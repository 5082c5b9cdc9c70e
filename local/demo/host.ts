import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Child, startChild } from '../start/child.ts';
import { currentBuild, type DemoBuild } from './build.ts';
import type { HostState } from './demoState.ts';
import { readStep, type DemoStep } from './step.ts';

/** A host that can be broken, and that comes back by itself as a platform would bring it back. */
export interface DemoHost {
  name: string;
  address: string;
  state: () => HostState;
  /** Version of the app that it runs, or ran last. */
  version: () => string;
  kill(): void;
  /** As Azure stops an instance: ten seconds go by before the app hears of it. */
  terminate(): void;
  freeze(ms: number): void;
  /** Stops it as Azure does and starts it with another build; resolves once that is up. */
  replace(build: DemoBuild): Promise<void>;
  /** Ends it for good. */
  end(): Promise<void>;
}

export interface DemoHostOptions {
  name: string;
  port: number;
  envFile: string;
  env: Record<string, string>;
  logFile: string;
  onStep: (step: DemoStep) => void;
  onState: (state: HostState) => void;
}

/** Time until a host that has ended is restarted (ms). */
const backAfterMs = 2_000;

const program = fileURLToPath(
  new URL('../../packages/local-azure/src/functionsHost/main.ts', import.meta.url),
);

/** Starts a host; resolves once it is up for the first time. */
export async function startDemoHost(options: DemoHostOptions): Promise<DemoHost> {
  const { name, port, onStep, onState } = options;
  const firstUp = Promise.withResolvers<void>();
  let state: HostState = 'starting';
  let child: Child | undefined;
  let ending = false;
  let build = currentBuild();
  let running = build;
  let thawing: NodeJS.Timeout | undefined;
  const become = (next: HostState) => {
    state = next;
    onState(next);
  };

  async function live(): Promise<void> {
    while (!ending) {
      try {
        become('starting');
        child = await launch();
        become('up');
        firstUp.resolve();
        if (ending) signal('SIGKILL');
        await child.exited;
      } catch (error) {
        // It needs a service that is away, perhaps: its log says which.
        firstUp.reject(error);
      }
      clearTimeout(thawing);
      child = undefined;
      become('gone');
      if (!ending) await delay(backAfterMs);
    }
  }

  async function launch(): Promise<Child> {
    running = build;
    const { folder } = running;
    const args = [
      program,
      '--port',
      `${port}`,
      '--env-file',
      options.envFile,
      '--no-timer-singleton',
      '--app',
      folder,
    ];
    const preload = pathToFileURL(join(folder, 'local/demo/preload.ts')).href;
    const nodeOptions = `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`;
    const env = { ...options.env, INSTANCE_ID: name, NODE_OPTIONS: nodeOptions };
    const started = await startChild(name, args, { env, logFile: options.logFile });
    if (started.process.stdout !== null) {
      createInterface(started.process.stdout).on('line', (line) => {
        const step = readStep(line);
        if (step !== undefined) onStep(step);
      });
    }
    return started;
  }

  /** To the host and its worker: a machine takes both along. */
  function signal(which: NodeJS.Signals): void {
    const { pid } = child?.process ?? {};
    if (pid === undefined) return;
    try {
      // Windows has no groups of processes; a worker ends with its host.
      process.kill(process.platform === 'win32' ? pid : -pid, which);
    } catch {
      // It has ended already.
    }
  }

  function thaw(): void {
    signal('SIGCONT');
    if (state === 'frozen') become('up');
  }

  function terminate(): void {
    if (state !== 'up') return;
    child?.process.kill('SIGTERM');
    become('stopping');
  }

  const life = live();
  await firstUp.promise.catch((error: unknown) => {
    ending = true;
    throw error;
  });
  return {
    name,
    address: `http://127.0.0.1:${port}`,
    state: () => state,
    version: () => running.version,
    kill: () => signal('SIGKILL'),
    terminate,
    freeze(ms) {
      // Windows has no signal for it.
      if (state !== 'up' || process.platform === 'win32') return;
      signal('SIGSTOP');
      become('frozen');
      thawing = setTimeout(thaw, ms);
    },
    async replace(next) {
      build = next;
      // It may be frozen at first, or be killed on the way: whatever starts it again starts the new build.
      while (!ending && (state !== 'up' || running !== next)) {
        terminate();
        await delay(250);
      }
    },
    async end() {
      ending = true;
      signal('SIGKILL');
      // One that is just being started is killed once it is up.
      await life;
    },
  };
}
