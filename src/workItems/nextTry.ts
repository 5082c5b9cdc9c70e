import { StoreAway } from '../documents/storeAway.ts';
import { NewerVersion, putOffMs } from '../documents/storedDocuments.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import { decidePostponement } from './decidePostponement.ts';
import { isNotNow, NotYet } from './notNow.ts';
import { readWorkItem, type Stage } from './workItem.ts';

/** Sends a message to the queue, to appear there after `delayMs` milliseconds. */
export type SendAgain = (message: unknown, delayMs: number) => Promise<void>;

/** How a work item is sent again. */
export type NextTry =
  /** As it came: it is on hold, or a newer release sent it and a process of that release has to do it. */
  { kind: 'putOff'; message: unknown; delayMs: number } | Postponed;

/** With one more try in its history. The rest is for the telemetry: `waitedMs` is the time since the first try. */
export interface Postponed {
  kind: 'postponed';
  message: unknown;
  delayMs: number;
  stage: string;
  error: string;
  waitedMs: number;
}

export function countPostponed(
  telemetry: Telemetry,
  { stage, error, waitedMs }: Pick<Postponed, 'stage' | 'error' | 'waitedMs'>,
): void {
  telemetry.count(metric.workItemPostponed, { stage, error });
  telemetry.record(metric.workItemWaitedMs, waitedMs, { stage, error });
}

/**
 * How a work item that failed like this at `now` (milliseconds) is sent again; undefined if that is left to the queue's own
 * few deliveries.
 */
export function nextTry(
  message: unknown,
  error: unknown,
  { stages, now }: { stages: readonly Stage[]; now: number },
): NextTry | undefined {
  if (error instanceof NewerVersion) return { kind: 'putOff', message, delayMs: putOffMs };
  if (!isNotNow(error)) return undefined;
  const { item } = readWorkItem(stages, message);
  const decision = decidePostponement(item.retry, { now, refused: error instanceof NotYet });
  if (decision.kind === 'giveUp') return undefined;
  const { delayMs, retry } = decision;
  return {
    kind: 'postponed',
    message: { ...item, retry },
    delayMs,
    stage: item.stage,
    error: nameOf(error),
    waitedMs: Math.max(0, now - Date.parse(retry.since)),
  };
}

/** The error of the service behind a store says more than that the store was away. */
function nameOf(error: unknown): string {
  const told = error instanceof StoreAway ? error.cause : error;
  return told instanceof Error ? told.name : 'unknown';
}
