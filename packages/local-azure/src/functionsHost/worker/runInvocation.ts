import { inspect } from 'node:util';
import type { CoreInvocationContext, InvocationRequest, InvocationResponse } from '../coreTypes.ts';
import type { Logger } from '../logger.ts';
import { registeredApp, runHooks } from './registeredApp.ts';

/** Runs a function of the app through the programming model, as the Node worker does. */
export async function runInvocation(
  {
    functionName,
    invocationId,
    request,
  }: { functionName: string; invocationId: string; request: InvocationRequest },
  logger: Logger,
): Promise<InvocationResponse> {
  const model = registeredApp.programmingModel;
  const fn = registeredApp.functions.get(functionName);
  if (model === undefined || fn === undefined) throw new Error(`the app has no function ${functionName}`);
  const core: CoreInvocationContext = {
    invocationId,
    metadata: fn.metadata,
    request,
    log: (level, kind, message) =>
      logger.log(
        level,
        kind === 'user' ? `Function.${functionName}.User` : `Function.${functionName}`,
        message,
        { functionName, invocationId },
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

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(inspect(thrown), { cause: thrown });
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
