import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InvocationRequest, InvocationResponse } from '../coreTypes.ts';
import { HostStartError } from '../hostStartError.ts';
import type { FromWorker, LoadedWorker, ToWorker } from './protocol.ts';

// Beside this file, and compiled if this one is.
const program = fileURLToPath(new URL(`main${extname(import.meta.url)}`, import.meta.url));

/** The worker ended while a function was running in it. What the function has done by then is not known. */
export class WorkerEnded extends Error {
  override readonly name = 'WorkerEnded';
}

/** One process with the app in it. */
export interface WorkerProcess extends LoadedWorker {
  /** Resolves with what the function returned; rejects with what it threw, or with `WorkerEnded`. */
  invoke(functionName: string, invocationId: string, request: InvocationRequest): Promise<InvocationResponse>;
  /** Tells the app that it is to end. */
  terminate(): void;
  kill(): void;
  /** Resolves once the process has ended, with the cause in words. */
  ended: Promise<string>;
}

/** The app that a worker loads. */
export interface WorkerApp {
  appDir: string;
  logLevel: Record<string, string>;
  /** Port on which its process waits for a debugger. Absent: it does not. */
  inspect?: number | undefined;
}

/**
 * Starts a worker; resolves once the app is loaded.
 *
 * @throws HostStartError if the app cannot be loaded
 */
export async function startWorker({ inspect, ...app }: WorkerApp): Promise<WorkerProcess> {
  // The app prints to the same place as the host.
  const child = fork(program, [], {
    execArgv: [...process.execArgv, ...(inspect === undefined ? [] : [`--inspect=127.0.0.1:${inspect}`])],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const running = new Map<string, PromiseWithResolvers<InvocationResponse>>();
  const loading = Promise.withResolvers<LoadedWorker>();
  // Its last messages can arrive after its exit, but not after the channel has closed.
  const silent = new Promise((resolve) => child.once('disconnect', resolve));
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      void silent.then(() => resolve(how));
    });
    child.once('error', (error) => resolve(`cannot be started: ${error.message}`));
  });
  void ended.then((how) => {
    loading.reject(new HostStartError(`the worker ${how} before it had loaded ${app.appDir}`));
    for (const { reject } of running.values()) reject(new WorkerEnded(`the worker ${how}`));
    running.clear();
  });

  child.on('message', (message: FromWorker) => {
    switch (message.kind) {
      case 'loaded':
        return loading.resolve(message);
      case 'notLoaded':
        return loading.reject(new HostStartError(message.error));
      case 'returned':
        return take(message.invocationId)?.resolve(message.response);
      case 'threw': {
        const { message: text, stack } = message.error;
        const error = new Error(text);
        if (stack !== undefined) error.stack = stack;
        return take(message.invocationId)?.reject(error);
      }
    }
  });
  tell({ kind: 'load', ...app });

  function take(invocationId: string) {
    const one = running.get(invocationId);
    running.delete(invocationId);
    return one;
  }

  function tell(message: ToWorker): void {
    child.send(message, (error) => {
      if (error !== null && message.kind === 'invoke') {
        take(message.invocationId)?.reject(new WorkerEnded('the worker has ended'));
      }
    });
  }

  const kill = () => void child.kill('SIGKILL');
  try {
    const { name, files, functions, streamsAddress } = await loading.promise;
    return {
      name,
      files,
      functions,
      streamsAddress,
      ended,
      kill,
      terminate: () => tell({ kind: 'terminate' }),
      invoke(functionName, invocationId, request) {
        const answer = Promise.withResolvers<InvocationResponse>();
        running.set(invocationId, answer);
        tell({ kind: 'invoke', functionName, invocationId, request });
        return answer.promise;
      },
    };
  } catch (error) {
    kill();
    throw error;
  }
}
