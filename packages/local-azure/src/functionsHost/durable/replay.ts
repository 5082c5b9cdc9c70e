/**
 * Determines which of an orchestrator's actions are new by replaying its history against them.
 *
 * The SDK sends all actions since the start, unnumbered. Like the real extension, this starts each action in
 * turn and waits for it before starting the next; whatever it schedules takes the next number. History events
 * confirm what was scheduled before and complete what was waited for; what nothing confirms is a new
 * decision.
 * (source: Azure/azure-functions-durable-extension, OutOfProcOrchestrationShim.cs, ProcessAsyncActionsV2)
 */
import { type Action, type RetryOptions, unsupportedActions } from './actions.ts';
import type { HistoryEvent } from './events.ts';
import { allOf, firstOf, type Outcome, settled, Wait } from './wait.ts';

export type Decision =
  | { kind: 'activity'; id: number; name: string; input: string }
  | { kind: 'timer'; id: number; fireAt: number }
  | { kind: 'subOrchestration'; id: number; name: string; instanceId: string; input: string };
type Unnumbered<D = Decision> = D extends Decision ? Omit<D, 'id'> : never;

export interface Replayed {
  /** Ordered by number. */
  decisions: Decision[];
  /** True if every action was waited for: only then can the orchestration end. */
  finished: boolean;
  /** JSON text of the next input, if the orchestrator continued as new. */
  continueAsNew: string | undefined;
}

export interface ReplayOptions {
  executionId: string;
  /** Milliseconds. A longer timer becomes a chain of timers of `longTimerInterval`. */
  maximumShortTimer: number;
  longTimerInterval: number;
  /** Throws if there is no such function. */
  check: (kind: 'activity' | 'orchestrator', name: string) => void;
}

/** History and orchestrator do not match, or the orchestrator uses something the engine does not support. */
export class ReplayError extends Error {
  override name = 'ReplayError';
}

/** @throws ReplayError */
export function replay(actions: Action[], history: HistoryEvent[], options: ReplayOptions): Replayed {
  const scheduled = new Map<number, Decision>();
  const open = new Map<number, Wait>();
  const waiting = new Map<string, Wait[]>();
  const unawaited = new Map<string, number>();
  let nextId = 0;
  let now = 0;
  let finished = false;
  let continueAsNew: string | undefined;

  function schedule(decision: (id: number) => Unnumbered): Wait {
    const id = nextId++;
    const wait = new Wait();
    scheduled.set(id, { ...decision(id), id });
    open.set(id, wait);
    return wait;
  }

  function start(action: Action): Wait {
    switch (action.actionType) {
      case 0:
        return callActivity(action);
      case 1:
        return withRetry(action.retryOptions, () => callActivity(action));
      case 2:
        return callSubOrchestrator(action);
      case 3:
        return withRetry(action.retryOptions, () => callSubOrchestrator(action));
      case 4:
        continueAsNew = inputText(action.input);
        return settled();
      case 5:
        return timer(Date.parse(action.fireAt), action.isCanceled);
      case 6:
        return externalEvent(action.externalEventName);
      case 7:
      case 8:
      case 9:
      case 13:
      case 14:
        throw new ReplayError(
          `${unsupportedActions[action.actionType]} is not supported by the local Functions host`,
        );
      case 11:
        return firstOf(action.compoundActions.map(start));
      case 12:
        return allOf(action.compoundActions.map(start));
    }
  }

  function callActivity(action: { functionName: string; input?: unknown }): Wait {
    options.check('activity', action.functionName);
    return schedule(() => ({
      kind: 'activity',
      name: action.functionName,
      input: inputText(action.input),
    }));
  }

  function callSubOrchestrator(action: {
    functionName: string;
    instanceId?: string | null | undefined;
    input?: unknown;
  }): Wait {
    options.check('orchestrator', action.functionName);
    return schedule((id) => ({
      kind: 'subOrchestration',
      name: action.functionName,
      instanceId: action.instanceId || `${options.executionId}:${id}`,
      // Unlike an activity's, this input is never JSON text already (CallSubOrchestratorAction.js).
      input: JSON.stringify(action.input ?? null),
    }));
  }

  function timer(fireAt: number, isCanceled = false): Wait {
    const isLong = fireAt - now > options.maximumShortTimer;
    const next = schedule(() => ({
      kind: 'timer',
      fireAt: isLong ? now + options.longTimerInterval : fireAt,
    }));
    if (isCanceled) return settled();
    const wait = new Wait();
    next.whenDone(() => {
      if (fireAt > now && isLong) timer(fireAt).whenDone((outcome) => wait.settle(outcome));
      else wait.settle('succeeded');
    });
    return wait;
  }

  /** A timer follows every failed try, even the last: SDK and extension number their tasks that way. */
  function withRetry(retry: RetryOptions, call: () => Wait): Wait {
    if (retry.retryTimeoutInMilliseconds !== undefined) {
      throw new ReplayError('retryTimeoutInMilliseconds is not supported: the SDK itself does not act on it');
    }
    const wait = new Wait();
    const attempt = (number: number) =>
      call().whenDone((outcome) => {
        if (outcome === 'succeeded') {
          wait.settle(outcome);
          return;
        }
        const delay = Math.min(
          retry.firstRetryIntervalInMilliseconds * retry.backoffCoefficient ** (number - 1),
          retry.maxRetryIntervalInMilliseconds ?? Number.POSITIVE_INFINITY,
        );
        timer(now + delay).whenDone(() => {
          if (number >= retry.maxNumberOfAttempts) wait.settle('failed');
          else attempt(number + 1);
        });
      });
    attempt(1);
    return wait;
  }

  function externalEvent(name: string): Wait {
    const ready = unawaited.get(name) ?? 0;
    if (ready > 0) {
      unawaited.set(name, ready - 1);
      return settled();
    }
    const wait = new Wait();
    waiting.set(name, [...(waiting.get(name) ?? []), wait]);
    return wait;
  }

  function raise(name: string): void {
    const wait = waiting.get(name)?.pop();
    if (wait === undefined) unawaited.set(name, (unawaited.get(name) ?? 0) + 1);
    else wait.settle('succeeded');
  }

  function startFrom(index: number): void {
    const action = actions[index];
    if (action === undefined) finished = true;
    else start(action).whenDone(() => startFrom(index + 1));
  }

  function confirm(id: number, kind: Decision['kind'], name?: string): void {
    const decision = scheduled.get(id);
    if (decision?.kind !== kind || (name !== undefined && 'name' in decision && decision.name !== name)) {
      const happened = name === undefined ? kind : `${kind} ${name}`;
      throw new ReplayError(
        `Non-Deterministic workflow detected: the history has ${happened} as task ${id}, ` +
          `this run of the orchestrator has ${decision === undefined ? 'none' : decision.kind}`,
      );
    }
    scheduled.delete(id);
  }

  function complete(id: number, outcome: Outcome): void {
    const wait = open.get(id);
    open.delete(id);
    wait?.settle(outcome);
  }

  for (const event of history) {
    switch (event.EventType) {
      case 'OrchestratorStarted':
        now = Math.max(now, Date.parse(event.Timestamp));
        break;
      case 'ExecutionStarted':
        startFrom(0);
        break;
      case 'TaskScheduled':
        confirm(event.EventId, 'activity', event.Name);
        break;
      case 'SubOrchestrationInstanceCreated':
        confirm(event.EventId, 'subOrchestration', event.Name);
        break;
      case 'TimerCreated':
        confirm(event.EventId, 'timer');
        break;
      case 'TaskCompleted':
      case 'SubOrchestrationInstanceCompleted':
        complete(event.TaskScheduledId, 'succeeded');
        break;
      case 'TaskFailed':
      case 'SubOrchestrationInstanceFailed':
        complete(event.TaskScheduledId, 'failed');
        break;
      case 'TimerFired':
        complete(event.TimerId, 'succeeded');
        break;
      case 'EventRaised':
        raise(event.Name);
        break;
      case 'OrchestratorCompleted':
      case 'ExecutionCompleted':
      case 'ExecutionTerminated':
      case 'ExecutionSuspended':
      case 'ExecutionResumed':
        break;
    }
  }
  return { decisions: [...scheduled.values()], finished, continueAsNew };
}

/** The SDK sends text as JSON text, everything else unchanged (Utils.processInput). */
function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? null);
}
