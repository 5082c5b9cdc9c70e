/**
 * One episode of an orchestration, without I/O: committed history + new events (+ the orchestrator's answer)
 * → the events to commit and the resulting state.
 *
 *   Pending → Running → Completed | Failed | Terminated;  Running ⇄ Suspended
 *
 * Only an episode moves an instance out of Running, and only a committed episode may be published.
 */
import type { OrchestratorState } from './actions.ts';
import { type EventOf, type FinalStatus, type HistoryEvent, toJsonText } from './events.ts';
import { type Decision, type ReplayOptions, replay } from './replay.ts';

/** Outcome of running the orchestrator function. */
export type OrchestratorAnswer =
  | { kind: 'state'; state: OrchestratorState }
  /** It threw. `state` is what it had done so far, if the SDK reported that. */
  | { kind: 'failed'; message: string; state: OrchestratorState | undefined };

export type EpisodeResult =
  | { kind: 'committable'; events: HistoryEvent[]; customStatus: string | null | undefined }
  /** This history ends; a new one starts with this input. */
  | { kind: 'continuedAsNew'; input: string; customStatus: string | null };

/** Drops the messages that the history cannot use: duplicates, and answers to unknown tasks. */
export function freshEvents(history: HistoryEvent[], messages: HistoryEvent[]): HistoryEvent[] {
  const known = new Set(history.map(identity).filter((id) => id !== undefined));
  const asked = new Set(history.map(question).filter((id) => id !== undefined));
  return messages.filter((message) => {
    const id = identity(message);
    const answered = answers(message);
    if (answered !== undefined && !asked.has(answered)) return false;
    if (id === undefined) return true;
    if (known.has(id)) return false;
    known.add(id);
    return true;
  });
}

/** Equal for two events of which an execution accepts only one. */
function identity(event: HistoryEvent): string | undefined {
  if ('MessageId' in event) return `message ${event.MessageId}`;
  if (event.EventType === 'ExecutionStarted') return 'start';
  const answered = answers(event);
  return answered === undefined ? undefined : `answer ${answered}`;
}

/** The task that an event answers. */
function answers(event: HistoryEvent): string | undefined {
  if ('TimerId' in event) return `timer ${event.TimerId}`;
  if (!('TaskScheduledId' in event)) return undefined;
  const isActivity = event.EventType === 'TaskCompleted' || event.EventType === 'TaskFailed';
  return `${isActivity ? 'activity' : 'sub-orchestration'} ${event.TaskScheduledId}`;
}

/** The task that an event asks for. */
function question({ EventType, EventId }: HistoryEvent): string | undefined {
  if (EventType === 'TaskScheduled') return `activity ${EventId}`;
  if (EventType === 'SubOrchestrationInstanceCreated') return `sub-orchestration ${EventId}`;
  return EventType === 'TimerCreated' ? `timer ${EventId}` : undefined;
}

/** True if the latest suspend or resume event is a suspend. */
export function isSuspended(history: HistoryEvent[]): boolean {
  const last = history.findLast(
    ({ EventType }) => EventType === 'ExecutionSuspended' || EventType === 'ExecutionResumed',
  );
  return last?.EventType === 'ExecutionSuspended';
}

/** Finds the event that ended the execution; undefined if it has not ended. */
export function endOf(history: HistoryEvent[]): EventOf<'ExecutionCompleted'> | undefined {
  return history.find((event) => event.EventType === 'ExecutionCompleted');
}

export function startOf(history: HistoryEvent[]): EventOf<'ExecutionStarted'> | undefined {
  return history.find((event) => event.EventType === 'ExecutionStarted');
}

/** The episode of an instance that was terminated or is suspended, for which no function runs. */
export function episodeWithoutFunction(
  past: HistoryEvent[],
  fresh: HistoryEvent[],
  at: string,
): EpisodeResult | undefined {
  const terminated = fresh.find((event) => event.EventType === 'ExecutionTerminated');
  if (terminated === undefined && !isSuspended([...past, ...fresh])) return undefined;
  const end = terminated === undefined ? [] : [completed('Terminated', terminated.Input, at)];
  return {
    kind: 'committable',
    events: [marker('OrchestratorStarted', at), ...fresh, ...end, marker('OrchestratorCompleted', at)],
    customStatus: undefined,
  };
}

/**
 * @param fresh begins with OrchestratorStarted
 * @param at ISO time of the new events
 */
export function concludeEpisode(
  past: HistoryEvent[],
  fresh: HistoryEvent[],
  answer: OrchestratorAnswer,
  at: string,
  options: ReplayOptions,
): EpisodeResult {
  const name = startOf([...past, ...fresh])?.Name ?? '';
  const fail = (message: string) => `Orchestrator function '${name}' failed: ${message}`;
  const ended = (status: FinalStatus, result: string, customStatus: string | null): EpisodeResult => ({
    kind: 'committable',
    events: [...fresh, completed(status, result, at), marker('OrchestratorCompleted', at)],
    customStatus,
  });

  const { state } = answer;
  if (state === undefined) {
    return ended('Failed', toJsonText(fail(answer.kind === 'failed' ? answer.message : '')), null);
  }
  const customStatus = state.customStatus === undefined ? null : toJsonText(state.customStatus);
  let replayed: ReturnType<typeof replay>;
  try {
    replayed = replay(state.actions[0] ?? [], [...past, ...fresh], options);
  } catch (error) {
    return ended('Failed', toJsonText(fail(error instanceof Error ? error.message : String(error))), null);
  }
  if (replayed.finished) {
    if (state.error !== undefined) return ended('Failed', toJsonText(fail(state.error)), customStatus);
    if (replayed.continueAsNew !== undefined) {
      return { kind: 'continuedAsNew', input: replayed.continueAsNew, customStatus };
    }
    if (state.isDone) return ended('Completed', toJsonText(state.output), customStatus);
  }
  const scheduled = replayed.decisions.map((decision) => scheduledEvent(decision, at));
  return {
    kind: 'committable',
    events: [...fresh, ...scheduled, marker('OrchestratorCompleted', at)],
    customStatus,
  };
}

export function marker(
  EventType: 'OrchestratorStarted' | 'OrchestratorCompleted',
  Timestamp: string,
): HistoryEvent {
  return { EventType, EventId: -1, Timestamp };
}

function completed(OrchestrationStatus: FinalStatus, Result: string | null, Timestamp: string): HistoryEvent {
  return { EventType: 'ExecutionCompleted', EventId: -1, Timestamp, OrchestrationStatus, Result };
}

function scheduledEvent(decision: Decision, Timestamp: string): HistoryEvent {
  const base = { EventId: decision.id, Timestamp };
  switch (decision.kind) {
    case 'activity':
      return { EventType: 'TaskScheduled', ...base, Name: decision.name, Input: decision.input };
    case 'timer':
      return { EventType: 'TimerCreated', ...base, FireAt: new Date(decision.fireAt).toISOString() };
    case 'subOrchestration':
      return {
        EventType: 'SubOrchestrationInstanceCreated',
        ...base,
        Name: decision.name,
        InstanceId: decision.instanceId,
        Input: decision.input,
      };
  }
}
