import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AppFunction } from './appFunctions.ts';
import { bindingData } from './bindingData.ts';
import type { InvocationResponse, TypedData } from './coreTypes.ts';
import type { createInputReader } from './inputs/inputBinding.ts';
import type { Logger, LogSource } from './logger.ts';
import type { OutputSender } from './outputs/outputSender.ts';
import { mayRetry, retryDelay } from './retryPolicy.ts';
import { newTraceContext } from './traceContext.ts';
import type { Worker } from './worker/worker.ts';
import { WorkerEnded, type WorkerProcess } from './worker/workerProcess.ts';

/** Input of a function from its trigger. */
export interface TriggerInput {
  data: TypedData;
  triggerMetadata?: Record<string, TypedData>;
  /** Default: a random one. */
  invocationId?: string;
  /** The traceparent that came with it. Without one the invocation has a trace of its own. */
  traceparent?: unknown;
  /** The process that is to run it, where that has to be known before. Default: the current one. */
  process?: WorkerProcess;
}

/** Runs functions in the worker. */
export interface Invoker {
  /**
   * Resolves with what the function returned. Rejects with what it threw, on `functionTimeout`, or with `WorkerEnded`.
   */
  invoke(fn: AppFunction, input: TriggerInput): Promise<InvocationResponse>;
  /** Resolves once no invocation is running. */
  idle(): Promise<void>;
  /** Running invocations: function name by invocation id. */
  running: ReadonlyMap<string, string>;
}

export interface InvokerOptions {
  worker: Pick<Worker, 'current' | 'restart'>;
  logger: Logger;
  /** Milliseconds; Infinity for no limit. */
  functionTimeout: number;
  /** Data of the Durable Functions client binding. */
  durableClient: () => TypedData;
  inputs: Pick<ReturnType<typeof createInputReader>, 'read'>;
  outputs: Pick<OutputSender, 'send'>;
}

/**
 * A function that takes longer than `functionTimeout` ends its worker with everything else that runs there, as on the real
 * host: nothing can stop a function by itself.
 */
export function createInvoker(options: InvokerOptions): Invoker {
  const { worker, logger, functionTimeout, durableClient, inputs, outputs } = options;
  const running = new Map<string, string>();
  let becameIdle: PromiseWithResolvers<void> | undefined;

  async function invoke(fn: AppFunction, input: TriggerInput): Promise<InvocationResponse> {
    const { retry } = fn;
    for (let retries = 0; ; retries++) {
      try {
        return await invokeOnce(fn, input, retries);
      } catch (error) {
        if (retry === undefined || error instanceof WorkerEnded || !mayRetry(retry, retries)) throw error;
        await delay(retryDelay(retry, retries), undefined, { ref: false });
      }
    }
  }

  async function invokeOnce(
    fn: AppFunction,
    input: TriggerInput,
    retries: number,
  ): Promise<InvocationResponse> {
    const { invocationId = randomUUID() } = input;
    const source: LogSource = { functionName: fn.name, invocationId };
    const category = `Function.${fn.name}`;
    const startedAt = performance.now();
    running.set(invocationId, fn.name);
    if (logger.writes('debug', category)) logger.log('debug', category, 'executing', source);
    try {
      const process = input.process ?? (await worker.current());
      const request = await requestFor(fn, input, retries);
      const response = await withTimeout(invocationId, process.invoke(fn.name, invocationId, request));
      await outputs.send(fn.outputs, response);
      if (logger.writes('information', category)) {
        logger.log('information', category, `executed (succeeded, ${elapsed(startedAt)} ms)`, source);
      }
      return response;
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      logger.log('error', category, `executed (failed, ${elapsed(startedAt)} ms): ${what}`, source);
      throw error;
    } finally {
      running.delete(invocationId);
      if (running.size === 0) becameIdle?.resolve();
    }
  }

  async function requestFor(fn: AppFunction, input: TriggerInput, retryCount: number) {
    const { data, triggerMetadata = {}, traceparent } = input;
    const clients = fn.durableClients.map((name) => ({ name, data: durableClient() }));
    const read = fn.inputs.length === 0 ? [] : await inputs.read(fn.inputs, bindingData(input));
    const inputData = [{ name: fn.triggerName, data }, ...clients, ...read];
    return {
      inputData,
      triggerMetadata,
      traceContext: newTraceContext(traceparent),
      ...(fn.retry === undefined || retryCount === 0
        ? {}
        : { retryContext: { retryCount, maxRetryCount: fn.retry.maxRetryCount } }),
    };
  }

  async function withTimeout(
    invocationId: string,
    work: Promise<InvocationResponse>,
  ): Promise<InvocationResponse> {
    if (functionTimeout === Number.POSITIVE_INFINITY) return work;
    let timer: NodeJS.Timeout | undefined;
    try {
      const timedOut = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(new Error(`timed out: functionTimeout of ${functionTimeout} ms exceeded`));
          // In the words of the real host, which an alert of the app looks for.
          const restarting = `A function timeout has occurred. Restarting worker process executing invocationId '${invocationId}'.`;
          logger.log('warning', 'Host.Worker', restarting);
          worker.restart();
        }, functionTimeout);
      });
      return await Promise.race([work, timedOut]);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    invoke,
    running,
    async idle() {
      if (running.size === 0) return;
      becameIdle ??= Promise.withResolvers();
      await becameIdle.promise;
    },
  };
}

function elapsed(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}
