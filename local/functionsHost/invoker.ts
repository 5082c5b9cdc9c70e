import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { AppFunction } from './appFunctions.ts';
import type { CoreInvocationContext, InvocationResponse, ProgrammingModel, TypedData } from './coreTypes.ts';
import type { Logger, LogSource } from './logger.ts';
import type { OutputSender } from './outputs/outputSender.ts';
import { registeredApp, runHooks } from './registeredApp.ts';

/** What a trigger passes to its function. */
export interface TriggerInput {
  data: TypedData;
  triggerMetadata?: Record<string, TypedData>;
  /** Default: a random one. */
  invocationId?: string;
}

/** Runs functions through the programming model, as the Node worker does. */
export interface Invoker {
  /** Resolves with what the function returned. Rejects with what it threw, or on `functionTimeout`. */
  invoke(fn: AppFunction, input: TriggerInput): Promise<InvocationResponse>;
  /** Resolves once no invocation is running. */
  idle(): Promise<void>;
  /** Running invocations: function name by invocation id. */
  running: ReadonlyMap<string, string>;
}

export interface InvokerOptions {
  model: ProgrammingModel;
  logger: Logger;
  /** Milliseconds; Infinity for no limit. */
  functionTimeout: number;
  /** Data of the Durable Functions client binding. */
  durableClient: () => TypedData;
  outputs: Pick<OutputSender, 'send'>;
}

export function createInvoker(options: InvokerOptions): Invoker {
  const { model, logger, functionTimeout, durableClient, outputs } = options;
  const running = new Map<string, string>();
  let becameIdle: PromiseWithResolvers<void> | undefined;

  async function invoke(fn: AppFunction, input: TriggerInput): Promise<InvocationResponse> {
    const { invocationId = randomUUID() } = input;
    const source: LogSource = { functionName: fn.name, invocationId };
    const category = `Function.${fn.name}`;
    const startedAt = performance.now();
    running.set(invocationId, fn.name);
    if (logger.writes('debug', category)) logger.log('debug', category, 'executing', source);
    try {
      const response = await withTimeout(run(fn, input, invocationId, source));
      await outputs.send(fn.outputs, response);
      if (logger.writes('information', category)) {
        logger.log('information', category, `executed (succeeded, ${elapsed(startedAt)} ms)`, source);
      }
      return response;
    } catch (error) {
      const what = asError(error).stack ?? asError(error).message;
      logger.log('error', category, `executed (failed, ${elapsed(startedAt)} ms): ${what}`, source);
      throw error;
    } finally {
      running.delete(invocationId);
      if (running.size === 0) becameIdle?.resolve();
    }
  }

  async function withTimeout(work: Promise<InvocationResponse>): Promise<InvocationResponse> {
    if (functionTimeout === Number.POSITIVE_INFINITY) return work;
    let timer: NodeJS.Timeout | undefined;
    try {
      const timedOut = new Promise<never>((_, reject) => {
        timer = setTimeout(
          () => reject(new Error(`timed out: functionTimeout of ${functionTimeout} ms exceeded`)),
          functionTimeout,
        );
      });
      return await Promise.race([work, timedOut]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function run(
    fn: AppFunction,
    { data, triggerMetadata = {} }: TriggerInput,
    invocationId: string,
    source: LogSource,
  ): Promise<InvocationResponse> {
    const core: CoreInvocationContext = {
      invocationId,
      metadata: fn.metadata,
      request: {
        inputData: [
          { name: fn.triggerName, data },
          ...fn.durableClients.map((name) => ({ name, data: durableClient() })),
        ],
        triggerMetadata,
      },
      log: (level, kind, message) =>
        logger.log(
          level,
          kind === 'user' ? `Function.${fn.name}.User` : `Function.${fn.name}`,
          message,
          source,
        ),
    };
    const invocation = await model.getInvocationModel(core);
    const { context, inputs } = await invocation.getArguments();
    const shared = { hookData: {}, appHookData: registeredApp.appHookData, invocationContext: context };
    const before = { ...shared, inputs, functionCallback: fn.callback };
    await inState(core, 'preInvocationHooks', () => runHooks('preInvocation', before));
    const after = { ...shared, inputs: before.inputs, result: null as unknown, error: null as unknown };
    try {
      after.result = await inState(core, 'invocation', () =>
        invocation.invokeFunction(context, before.inputs, before.functionCallback),
      );
    } catch (error) {
      after.error = asError(error);
    }
    await inState(core, 'postInvocationHooks', () => runHooks('postInvocation', after));
    if (after.error !== null && after.error !== undefined) throw asError(after.error);
    return invocation.getResponse(context, after.result);
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

async function inState<T>(
  core: CoreInvocationContext,
  state: NonNullable<CoreInvocationContext['state']>,
  work: () => Promise<T>,
): Promise<T> {
  core.state = state;
  try {
    return await work();
  } finally {
    core.state = undefined;
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(inspect(thrown), { cause: thrown });
}

function elapsed(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}
