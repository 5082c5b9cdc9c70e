/**
 * Handles the messages of one instance: read history, drop duplicates, run the orchestrator, commit, publish.
 *
 * The commit is the single point where an episode takes effect or does not (the sentinel's ETag decides
 * between hosts). What to publish (status row, messages) follows from what was committed; a host that finds
 * an episode unpublished publishes it again. Only then are the messages that led to it deleted.
 */
import { randomUUID } from 'node:crypto';
import type { EventOf, HistoryEvent } from './events.ts';
import { type Invoke, runOrchestrator, type TimerLimits } from './functionRunner.ts';
import type { HistoryTable, StoredHistory } from './history.ts';
import { type InstanceTable, isOver, type RuntimeStatus } from './instances.ts';
import { type MessageSender, sendMessagesOf, type TaskMessage } from './messages.ts';
import {
  concludeEpisode,
  endOf,
  episodeWithoutFunction,
  freshEvents,
  isSuspended,
  marker,
  startOf,
} from './orchestrationEpisode.ts';
import type { ReplayOptions } from './replay.ts';

export interface OrchestrationWorkerOptions extends TimerLimits {
  history: HistoryTable;
  instances: InstanceTable;
  send: MessageSender;
  invoke: Invoke;
  check: ReplayOptions['check'];
  /** True if a start may replace a running instance. */
  replacesRunning: boolean;
}

/**
 * Instruction for the messages. `done`: delete them. `conflict`: another host committed first, leave them to
 * it. `early`: they came before the start of their instance, put them back.
 */
export type EpisodeOutcome = 'done' | 'conflict' | 'early';

type Draft = Omit<StoredHistory, 'etag' | 'isPublished'> & { etag: string | undefined };

export type OrchestrationWorker = (instanceId: string, messages: TaskMessage[]) => Promise<EpisodeOutcome>;

export function orchestrationWorker(options: OrchestrationWorkerOptions): OrchestrationWorker {
  const { history, instances, send } = options;

  return async (instanceId, messages) => {
    const stored = await history.read(instanceId);
    if (stored !== undefined && !stored.isPublished) {
      const etag = await publish(instanceId, stored, stored.etag);
      if (etag === undefined) return 'conflict';
      stored.etag = etag;
    }
    const start = await acceptedStart(instanceId, messages, stored);
    const draft = start === undefined ? stored : newExecution(start, stored);
    if (await isEarly(instanceId, messages, draft)) return 'early';
    if (draft === undefined) return 'done';
    const wanted = messages.filter(({ Event, OrchestrationInstance: { ExecutionId } }) =>
      Event.EventType === 'ExecutionStarted'
        ? ExecutionId === start?.executionId
        : ExecutionId === null || ExecutionId === draft.executionId,
    );
    const fresh = endOf(draft.events)
      ? []
      : freshEvents(
          draft.events,
          wanted.map(({ Event }) => Event),
        );
    if (fresh.length === 0) return 'done';
    const next = await episode(instanceId, draft, startsFirst(fresh));
    const etag = await history.commit({ ...next, instanceId });
    if (etag === undefined) return 'conflict';
    await publish(instanceId, next, etag);
    if (next.firstRow !== stored?.firstRow && stored !== undefined) {
      await history.removeBefore(instanceId, next.firstRow);
    }
    return 'done';
  };

  /** The ExecutionStarted among the messages that begins a new execution, if any. */
  async function acceptedStart(
    instanceId: string,
    messages: TaskMessage[],
    stored: StoredHistory | undefined,
  ) {
    const starts = messages.flatMap(({ Event, OrchestrationInstance: { ExecutionId } }) =>
      Event.EventType === 'ExecutionStarted' && ExecutionId !== null
        ? [{ event: Event, executionId: ExecutionId }]
        : [],
    );
    if (starts.length === 0) return undefined;
    const row = await instances.read(instanceId);
    // A client writes the row after sending the message. If two starts raced, the row's execution counts.
    return starts.find(({ event, executionId }) => {
      if (executionId === stored?.executionId) return false;
      if (row === undefined || row.executionId === executionId) return true;
      const isNewer = Date.parse(event.Timestamp) >= Date.parse(row.createdTime);
      const isFree =
        isOver(row.runtimeStatus) && (stored === undefined || endOf(stored.events) !== undefined);
      return isNewer && (isFree || options.replacesRunning);
    });
  }

  /** True if client messages are for an execution whose start is still in flight. */
  async function isEarly(instanceId: string, messages: TaskMessage[], draft: Draft | undefined) {
    const isForNow = messages.some(({ OrchestrationInstance }) => OrchestrationInstance.ExecutionId === null);
    if (!isForNow || (draft !== undefined && endOf(draft.events) === undefined)) return false;
    const row = await instances.read(instanceId);
    return row?.runtimeStatus === 'Pending' && row.executionId !== draft?.executionId;
  }

  /** Runs the function, repeatedly while it continues as new, until there is something to commit. */
  async function episode(instanceId: string, from: Draft, messages: HistoryEvent[]): Promise<Draft> {
    let draft = from;
    let incoming = messages;
    for (;;) {
      const at = new Date().toISOString();
      const past = draft.events;
      let result = episodeWithoutFunction(past, incoming, at);
      if (result === undefined) {
        const fresh = [marker('OrchestratorStarted', at), ...incoming];
        const answer = await runOrchestrator(options.invoke, instanceId, past, fresh, options);
        const { executionId } = draft;
        result = concludeEpisode(past, fresh, answer, new Date().toISOString(), { ...options, executionId });
      }
      if (result.kind === 'committable') {
        return {
          ...draft,
          events: [...past, ...result.events],
          episodeStart: past.length,
          customStatus: result.customStatus === undefined ? draft.customStatus : result.customStatus,
        };
      }
      const before = startOf([...past, ...incoming]);
      if (before === undefined) throw new Error(`instance ${instanceId} has no ExecutionStarted event`);
      draft = { ...replaced(draft), executionId: randomUUID(), customStatus: result.customStatus };
      incoming = [{ ...before, Timestamp: at, Input: result.input }];
    }
  }

  /** Resolves with the new ETag, or undefined if another host marked it published first. */
  async function publish(instanceId: string, draft: Draft, etag: string): Promise<string | undefined> {
    const { events, executionId } = draft;
    const start = startOf(events);
    if (start === undefined) return etag;
    const row = await instances.read(instanceId);
    const isRowNewer =
      row !== undefined &&
      row.executionId !== executionId &&
      Date.parse(row.createdTime) > Date.parse(start.Timestamp);
    if (!isRowNewer) {
      await instances.write({
        instanceId,
        executionId,
        name: start.Name,
        runtimeStatus: statusOf(events),
        createdTime: start.Timestamp,
        lastUpdatedTime: events.at(-1)?.Timestamp ?? start.Timestamp,
        input: start.Input,
        output: endOf(events)?.Result ?? null,
        customStatus: draft.customStatus,
      });
    }
    const instance = { InstanceId: instanceId, ExecutionId: executionId, parent: start.ParentInstance };
    await sendMessagesOf(events.slice(draft.episodeStart), instance, send);
    return history.markPublished(instanceId, etag);
  }
}

function newExecution(
  { executionId }: { event: EventOf<'ExecutionStarted'>; executionId: string },
  stored: StoredHistory | undefined,
): Draft {
  if (stored !== undefined) return { ...replaced(stored), executionId, customStatus: null };
  return { executionId, events: [], episodeStart: 0, customStatus: null, firstRow: 0, etag: undefined };
}

/** An empty history that replaces `before`. */
function replaced(before: Draft): Draft {
  return { ...before, events: [], episodeStart: 0, firstRow: before.firstRow + before.events.length };
}

function startsFirst(events: HistoryEvent[]): HistoryEvent[] {
  const isStart = ({ EventType }: HistoryEvent) => EventType === 'ExecutionStarted';
  return [...events.filter(isStart), ...events.filter((one) => !isStart(one))];
}

function statusOf(events: HistoryEvent[]): RuntimeStatus {
  return endOf(events)?.OrchestrationStatus ?? (isSuspended(events) ? 'Suspended' : 'Running');
}
