import { createHash } from 'node:crypto';
import type { Clock } from '@payonce/leases/clock';
import { isNewer } from '../documents/storedDocuments.ts';
import { RetryLater, type SendAgain } from './nextTry.ts';
import { jsonOrText } from './queuedMessage.ts';
import { itemsOf, workItemSchema } from './workItem.ts';

/** Interval at which old entries are dropped (ms). */
const forgetEveryMs = 1_000;

/** Difference of the two clocks of a process over one delay up to which it is sure of the time (ms). */
const clocksDifferMs = 1_000;

/** Time by which a queue may show a message too early (ms): it counts in whole seconds. */
const earlyMs = 1_000;

/**
 * Sends of the same work that may fail within one window: as often as the queue delivers the received message. The first
 * window is one delay long, and each further one in which sends fail is twice as long as the one before, up to the longest.
 */
const mostFailures = 5;
const shortestWindowMs = 30_000;
const longestWindowMs = 300_000;

interface Failed {
  /** Time of the first failed send of this window, on the monotonic clock. */
  since: number;
  count: number;
  windowMs: number;
}

interface Sent {
  /** Time of the send, on the monotonic and on the wall clock. */
  at: number;
  wallAt: number;
  delayMs: number;
  answer: Promise<void>;
}

/**
 * Sends each message again once: while a copy of the same work that was sent is not visible yet, another is as good as sent.
 * Otherwise lost answers would multiply copies, as a storage queue detects no duplicates. A send that failed is made again at
 * the next delivery; after five failures within a window, which a queue slower than our time-out causes, copies are left to
 * theirs. A process that was frozen, or whose clock was set, sends again: what it has received may be the only copy.
 */
export function sendOnce(send: SendAgain, clock: Pick<Clock, 'now' | 'monotonic'>): SendAgain {
  const sent = new Map<string, Sent>();
  const failed = new Map<string, Failed>();
  let forgetAt = 0;

  return async (message, delayMs) => {
    forget();
    const name = createHash('sha256').update(workOf(message)).digest('base64');
    for (let before = sent.get(name); before !== undefined;) {
      await before.answer;
      if (isOnItsWay(before)) return;
      const latest = sent.get(name);
      before = latest === before ? undefined : latest;
    }
    const failures = failed.get(name);
    if (failures !== undefined && failures.count >= mostFailures && isOpen(failures)) {
      throw new RetryLater(`the queue has not confirmed ${mostFailures} copies of this message`);
    }
    // Counted from before it was sent: it appears no earlier.
    const [at, wallAt] = [clock.monotonic(), clock.now()];
    const answer = send(message, delayMs);
    sent.set(name, { at, wallAt, delayMs, answer });
    try {
      await answer;
    } catch (error) {
      if (sent.get(name)?.answer === answer) sent.delete(name);
      failed.set(name, withOneMore(failed.get(name), delayMs));
      throw error;
    }
    failed.delete(name);
  };

  function isOnItsWay({ at, wallAt, delayMs }: Sent): boolean {
    const passedMs = clock.monotonic() - at;
    const differMs = clock.now() - wallAt - passedMs;
    return passedMs < delayMs - earlyMs && Math.abs(differMs) < clocksDifferMs;
  }

  function withOneMore(failures: Failed | undefined, delayMs: number): Failed {
    if (failures !== undefined && isOpen(failures)) return { ...failures, count: failures.count + 1 };
    const windowMs =
      failures === undefined
        ? Math.max(delayMs, shortestWindowMs)
        : Math.min(2 * failures.windowMs, longestWindowMs);
    return { since: clock.monotonic(), count: 1, windowMs };
  }

  function isOpen({ since, windowMs }: Failed): boolean {
    return clock.monotonic() < since + windowMs;
  }

  function forget(): void {
    const now = clock.monotonic();
    if (now < forgetAt) return;
    forgetAt = now + forgetEveryMs;
    for (const [name, { at, delayMs }] of sent) if (at + delayMs <= now) sent.delete(name);
    for (const [name, { since, windowMs }] of failed)
      if (since + windowMs + longestWindowMs <= now) failed.delete(name);
  }
}

/** The request of a message, as text: the same for all its copies, whatever they tell of earlier tries. Pure. */
export function workOf(message: unknown): string {
  const items = itemsOf(message);
  if (items !== undefined) return JSON.stringify(items.map(workOf));
  const text = JSON.stringify(message);
  return isNewer(message) ? text : afresh(text);
}

/** The text of a work item without its history of retries; any other text as it is. */
export function afresh(text: string): string {
  const parsed = workItemSchema.safeParse(jsonOrText(text));
  if (!parsed.success) return text;
  const { retry: _, ...item } = parsed.data;
  return JSON.stringify(item);
}
