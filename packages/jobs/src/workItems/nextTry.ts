import { LockTimeout } from '@payonce/leases';
import { exponentialBackoff, jittered } from '@payonce/leases/backoff';
import { partMetric, type Telemetry } from '@payonce/leases/telemetry';
import { StoreAway } from '../documents/documentStore.ts';
import { NewerVersion, resendAfterMs } from '../documents/storedDocuments.ts';
import type { Stage } from './stage.ts';
import { readWorkItem, type WorkItem } from './workItem.ts';

/** Sends a message to the queue, to appear there after `delayMs` milliseconds. */
export type SendAgain = (message: unknown, delayMs: number) => Promise<void>;

/** A retry of a work item. */
export type NextTry =
  /** As it came: a newer release sent it, and a process of that release has to do it. */
  { kind: 'resent'; message: unknown; delayMs: number } | RetriedItem;

/** With one more try in its history. The rest is for the telemetry: `waitedMs` is the time since the first try. */
export interface RetriedItem {
  kind: 'retried';
  message: unknown;
  delayMs: number;
  stage: string;
  error: string;
  waitedMs: number;
}

export function countRetried(telemetry: Telemetry, { stage, error, waitedMs }: RetriedItem): void {
  telemetry.count(partMetric.workItemRetried, { stage, error });
  telemetry.record(partMetric.workItemWaitedMs, waitedMs, { stage, error });
}

/** The retry of a work item that failed like this at `now` (ms); undefined if the queue's own few deliveries are to do. */
export function nextTry(
  message: unknown,
  error: unknown,
  { stages, now }: { stages: readonly Stage[]; now: number },
): NextTry | undefined {
  if (error instanceof NewerVersion) return { kind: 'resent', message, delayMs: resendAfterMs };
  if (!mayRetryLater(error)) return undefined;
  const { item } = readWorkItem(stages, message);
  const decision = decideItemRetry(item.retry, { now, refused: error instanceof RetryForADay });
  if (decision.kind === 'giveUp') return undefined;
  const { delayMs, retry } = decision;
  return {
    kind: 'retried',
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

/** History that a work item carries from its first failed try on. */
export type Retry = NonNullable<WorkItem['retry']>;

/** Decision on a work item that cannot be done at the moment. */
export type ItemRetryDecision =
  /** Later: `delayMs` milliseconds from now, with this in it. */
  | { kind: 'later'; delayMs: number; retry: Retry }
  /** It has been refused for long enough. */
  | { kind: 'giveUp' };

/** Milliseconds: 10 s, 20 s, 40 s … 10 min. So each that waits is heard of in every window of an alert. */
const backoff = { base: 10_000, cap: 600_000 };
/** Time for which a refused work item is retried (ms): a day, in which its receiver may be mended. */
export const longestRefusedMs = 24 * 3_600_000;

/**
 * Decides at `now` (milliseconds), given what the item carries from earlier tries. An item that waits for something that is
 * away is retried for ever; one that is `refused` itself becomes poison a day after it was refused first. Pure but for `random`.
 */
export function decideItemRetry(
  before: Retry | undefined,
  { now, refused, random = Math.random }: { now: number; refused: boolean; random?: () => number },
): ItemRetryDecision {
  const at = new Date(now).toISOString();
  const { tries, since } = before ?? { tries: 0, since: at };
  const refusedSince = before?.refusedSince ?? at;
  if (refused && now - Date.parse(refusedSince) >= longestRefusedMs) return { kind: 'giveUp' };
  const delayMs = jittered(exponentialBackoff(tries + 1, backoff), 0.2, random);
  const refusal = refused ? { refusedSince } : {};
  return { kind: 'later', delayMs, retry: { ...before, ...refusal, tries: tries + 1, since } };
}

/** A stage cannot do its work now, through no fault of the work item. The item is tried for as long as it takes. */
export class RetryLater extends Error {
  override readonly name: string = 'RetryLater';
}

/** The receiver refuses this work item. It is tried for a day, and then a person should look at it. */
export class RetryForADay extends RetryLater {
  override readonly name: string = 'RetryForADay';
}

/** True if a retry may succeed: a stage says so, or a store was away. All else gets the queue's own few deliveries. */
export function mayRetryLater(error: unknown): boolean {
  // With a cause, the lock was not held elsewhere: its store gave no answer.
  const locksAway = error instanceof LockTimeout && error.cause !== undefined;
  return error instanceof RetryLater || error instanceof StoreAway || locksAway;
}
