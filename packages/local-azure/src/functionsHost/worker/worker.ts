/**
 * The worker of a host, over the lives of its processes:
 *   running  – a process has loaded the app
 *   starting – the process died or was ended; the next one loads the app, after a pause that grows with each early death
 *   stopped  – the host is stopping: no process follows
 */
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { startWorker, type WorkerApp, WorkerEnded, type WorkerProcess } from './workerProcess.ts';

/** Pause before the next process, in milliseconds, times the deaths in a row. */
const pauseMs = 500;
const longestPauseMs = 5_000;
/** A process that has lived for so many milliseconds did not die early. */
const longLifeMs = 30_000;
/** Time that a process has to exit once it is told to (ms), as on the real host. */
export const terminateMs = 5_000;

export interface Worker {
  /** The first process, with the content of the app that it loaded. */
  readonly first: WorkerProcess;
  /** The process that runs functions now, or the next one. Rejects with `WorkerEnded` once the host is stopping. */
  current(): Promise<WorkerProcess>;
  /** Kills the process with all that runs in it, because one function has taken too long. Another one follows. */
  restart(): void;
  /** Tells the app that it is to end, and ends it after five seconds if it has not. */
  stop(): Promise<void>;
}

/** @throws HostStartError if the app cannot be loaded the first time */
export async function keepWorker(
  app: WorkerApp,
  { logger, clock }: { logger: Logger; clock: Clock },
): Promise<Worker> {
  const first = await startWorker(app);
  let current = Promise.resolve(first);
  /** Stops the process that runs functions, and lets its successor take the calls that come from now on. */
  let replace = () => {};
  let process: WorkerProcess | undefined;
  let stopping = false;
  let early = 0;
  watch(first);

  function watch(started: WorkerProcess): void {
    const startedAt = clock.monotonic();
    process = started;
    const successor = started.ended.then((how) => {
      process = undefined;
      if (stopping) throw new WorkerEnded('the host is stopping');
      early = clock.monotonic() - startedAt < longLifeMs ? early + 1 : 0;
      logger.log('error', 'Host.Worker', `the worker ${how}; another one is started`);
      current = successor;
      return next();
    });
    // Rejects once the host is stopping, which those who wait for it learn.
    successor.catch(() => {});
    replace = () => {
      current = successor;
      started.kill();
    };
  }

  async function next(): Promise<WorkerProcess> {
    for (;;) {
      await clock.sleep(Math.min(early * pauseMs, longestPauseMs));
      if (stopping) throw new WorkerEnded('the host is stopping');
      try {
        const started = await startWorker(app);
        watch(started);
        if (stopping) started.kill();
        return started;
      } catch (error) {
        early++;
        logger.log('error', 'Host.Worker', `the worker cannot be started again: ${String(error)}`);
      }
    }
  }

  return {
    first,
    current: () => current,
    restart: () => replace(),
    async stop() {
      stopping = true;
      const ending = process;
      if (ending === undefined) return;
      ending.terminate();
      const ended = new AbortController();
      const late = clock.sleep(terminateMs, ended.signal).then(
        () => ending.kill(),
        () => {},
      );
      await ending.ended;
      ended.abort();
      await late;
    },
  };
}

/** The worker of a host whose app cannot be loaded: there is no function to run. */
export function withoutApp(): Worker {
  const first: WorkerProcess = {
    name: undefined,
    files: [],
    functions: [],
    streamsAddress: undefined,
    invoke: () => Promise.reject(new WorkerEnded('the app was not loaded')),
    terminate: () => {},
    kill: () => {},
    ended: Promise.withResolvers<string>().promise,
  };
  return { first, current: async () => first, restart: () => {}, stop: async () => {} };
}
