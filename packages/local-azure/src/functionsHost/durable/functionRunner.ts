import { WorkerEnded } from '../worker/workerProcess.ts';
import { type OrchestratorState, readFailureState, readOrchestratorState } from './actions.ts';
import { forSdk, type HistoryEvent, toJsonText } from './events.ts';
import { type OrchestratorAnswer, startOf } from './orchestrationEpisode.ts';

/**
 * Runs a trigger function through the programming model; rejects with what it threw, or with `WorkerEnded`. Then the message
 * that asked for it comes again.
 */
export type Invoke = (functionName: string, input: unknown) => Promise<unknown>;

export interface TimerLimits {
  /** Milliseconds. */
  maximumShortTimer: number;
  longTimerInterval: number;
}

/** Runs the orchestrator on its history; `fresh` holds the events it has not seen yet. */
export async function runOrchestrator(
  invoke: Invoke,
  instanceId: string,
  past: HistoryEvent[],
  fresh: HistoryEvent[],
  limits: TimerLimits,
): Promise<OrchestratorAnswer> {
  const start = startOf([...past, ...fresh]);
  if (start === undefined) throw new Error(`instance ${instanceId} has no ExecutionStarted event`);
  let returned: unknown;
  try {
    returned = await invoke(start.Name, {
      history: [...past.map((one) => forSdk(one, true)), ...fresh.map((one) => forSdk(one, false))],
      input: start.Input === null ? null : JSON.parse(start.Input),
      instanceId,
      isReplaying: past.length > 0,
      parentInstanceId: start.ParentInstance?.InstanceId ?? null,
      upperSchemaVersion: 2,
      upperSchemaVersionNew: 3,
      longRunningTimerIntervalDuration: timeSpan(limits.longTimerInterval),
      maximumShortTimerDuration: timeSpan(limits.maximumShortTimer),
      defaultHttpAsyncRequestSleepTimeMillseconds: 30_000,
    });
  } catch (error) {
    if (error instanceof WorkerEnded) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', message, state: readFailureState(message) };
  }
  let state: OrchestratorState;
  try {
    state = readOrchestratorState(returned);
  } catch (error) {
    return {
      kind: 'failed',
      message: `its return value is invalid: ${String(error)}`,
      state: undefined,
    };
  }
  return { kind: 'state', state };
}

export type ActivityAnswer =
  | { kind: 'completed'; result: string }
  | { kind: 'failed'; reason: string; details: string };

/** @param input JSON text, which the programming model parses */
export async function runActivity(
  invoke: Invoke,
  name: string,
  input: string | null,
): Promise<ActivityAnswer> {
  try {
    return { kind: 'completed', result: toJsonText(await invoke(name, input ?? 'null')) };
  } catch (error) {
    if (error instanceof WorkerEnded) throw error;
    const thrown = error instanceof Error ? error : new Error(String(error));
    return {
      kind: 'failed',
      reason: `Activity function '${name}' failed: ${thrown.message}`,
      details: asException(thrown),
    };
  }
}

/**
 * An error as the second line of a failed activity's message has it: one line of JSON, in the shape of a .NET exception, whose
 * `Message` begins with the error's type. Seen in https://github.com/Azure/azure-functions-durable-extension/issues/2990 and
 * https://github.com/Azure/azure-functions-durable-python/issues/496.
 */
function asException({ name, message, stack }: Error): string {
  return JSON.stringify({
    Message: `${name}: ${message}`,
    InnerException: null,
    HelpLink: null,
    Source: 'System.Private.CoreLib',
    HResult: -2_146_233_088,
    StackTrace: stack ?? null,
  });
}

/** A .NET time span, `d.hh:mm:ss.fff`, which the SDK parses with moment. */
function timeSpan(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const days = Math.floor(ms / 86_400_000);
  const fraction = String(ms % 1000).padStart(3, '0');
  return `${days}.${two((ms / 3_600_000) % 24)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}.${fraction}`;
}
