import { createHash } from 'node:crypto';
import pLimit, { type LimitFunction } from 'p-limit';
import { type Lease, type Locks, noLease, workItemLockKey } from '../locking/index.ts';
import { systemClock } from '../platform/clock.ts';
import type { Instance, InstanceOptions } from '../platform/instance.ts';
import { metric, noTelemetry } from '../platform/telemetry.ts';
import { countPostponed, type NextTry, nextTry, type SendAgain } from './nextTry.ts';
import type { PoisonItems } from './poison.ts';
import { sendOnce } from './sendOnce.ts';
import {
  type Done,
  type Effects,
  inItemSpan,
  inMessageSpan,
  itemsOf,
  type ReadWorkItem,
  type RecordedEffect,
  readWorkItem,
  type Stage,
  traceparentOf,
  withTrace,
  workItemMessages,
} from './workItem.ts';

/**
 * What becomes of one work item:
 *
 *   tried ──not now──► sent again (after 10 s … 10 min) ──► tried … for as long as it takes
 *     │  └──refused itself, for a day already──► the queue's last deliveries ──► poison
 *     └──any other failure──► the queue's deliveries ──► poison
 *
 * The queue delivers a message that fails five times within a minute and then gives it up. That is right for a bug, and
 * wrong for an outage, which is when a payment has to be looked up or a receiver does not answer. So an item that cannot be
 * done now is sent again, to appear later, and the message at hand is done with. A process that dies between the two leaves
 * two copies, and so does a lost answer: each finds the recorded effect, or waits for the other's lease (sendOnce.ts).
 */

/** How long a work item waits for the one that has the same lease before it goes back to the queue, in milliseconds. */
const leaseWaitMs = 5_000;

export interface WorkItemParts {
  stages: readonly Stage[];
  effects: Effects;
  locks: Locks;
  sendAgain: SendAgain;
  /** Where errors are left, for people who look at a poison message. Default: nowhere. */
  poison?: Pick<PoisonItems, 'noteFailure'>;
  instance: InstanceOptions;
}

/** `putOff`: it is on hold, or a newer release sent it and a process of that release has to do it. */
export type WorkItemOutcome = 'done' | 'doneBefore' | 'postponed' | 'putOff';

/**
 * Creates the consumer of the queue of work items. It runs the stage that a work item names, once: only if no effect of it is
 * recorded and, unless the stage does without, under the lease of that item. If the lease is held elsewhere it waits a
 * little and then rejects, so that the queue delivers the item again.
 *
 * A message rejects with `WorkItemRefused` if it is not a work item or its stage is unknown, with `LockTimeout` if the same
 * item is being worked on elsewhere, and with what its stage throws. A message of several work items is done once all of
 * them are, or have been sent again.
 */
export function createProcessWorkItem(parts: WorkItemParts): (message: unknown) => Promise<WorkItemOutcome> {
  const { stages, effects, locks, poison } = parts;
  const { name: by, clock = systemClock, telemetry = noTelemetry } = parts.instance;
  const instance = { name: by, clock, telemetry };
  const sendAgain = sendOnce(parts.sendAgain, clock);
  const processSeveral = createProcessSeveral({ ...parts, sendAgain, instance, once, run });

  return async (message) => {
    try {
      const items = itemsOf(message);
      if (items === undefined) return await processOne(message);
      return await inMessageSpan(message, items.length, () => processSeveral(message, items));
    } catch (error) {
      // The queue says nothing about why a message failed, so the error is left where the poison record finds it.
      await poison?.noteFailure(message, error).catch(() => {});
      throw error;
    }
  };

  async function processOne(message: unknown): Promise<WorkItemOutcome> {
    try {
      const read = readWorkItem(stages, message);
      return await inItemSpan(read.item, () => once(read));
    } catch (error) {
      const next = nextTry(message, error, { stages, now: clock.now() });
      if (next === undefined) throw error;
      await sendAgain(next.message, next.delayMs);
      if (next.kind === 'postponed') countPostponed(telemetry, next);
      return next.kind;
    }
  }

  async function once(read: ReadWorkItem): Promise<'done' | 'doneBefore'> {
    const { resourceId, stage: name } = read.item;
    const owner = { instance: by, job: `work-item:${name}` };
    const key = workItemLockKey(resourceId, name);
    await using lease = read.stage.lease
      ? await locks.acquire(key, owner, { waitMs: leaseWaitMs, fenced: false, likelyNew: true })
      : noLease(key, owner);
    if (await effects.has(read.item)) return 'doneBefore';
    lease.assertHeld();
    await effects.record(read.item, await run(read, lease));
    telemetry.count(metric.workItemDone, { stage: name });
    return 'done';
  }

  async function run({ item, stage }: ReadWorkItem, lease: Lease): Promise<RecordedEffect> {
    const { resourceId, input, occasion, retry } = item;
    const effect = await stage.run(input, {
      resourceId,
      tries: retry?.tries ?? 0,
      ...(occasion === undefined ? {} : { occasion }),
      signal: lease.signal,
      assertHeld: () => lease.assertHeld(),
    });
    return { ...effect, at: new Date(clock.now()).toISOString(), by };
  }
}

/**
 * What becomes of the work items of one message:
 *
 *   done ──► its effect is recorded with those of the others
 *   not now, or of a newer release ──► sent again later, together with the others like it
 *   not begun within a minute ──► sent again at once, together with the others like it
 *   any other failure ──► sent again alone; from there on it goes the way of a single work item
 *
 * What is sent again is sent before the effects are recorded: the record says that every item has been dealt with. A process
 * that dies before it leaves the whole message to be done again, which is why only stages without a lease record their
 * effects here. Those with a lease record each on its own, under that lease.
 */

/** Work items of one stage that this process does at the same time, over all messages: more would only wait for storage. */
const sideBySide = 16;
/** How long a message may begin work items, in milliseconds: well within the time of a function, however slow each is. */
const mostBeginningMs = 60_000;
/** How long a failed work item waits before it is tried alone, in milliseconds: as long as after a failed delivery. */
const aloneAfterMs = 10_000;

/** What came of one work item. */
type Tried =
  | { kind: 'done'; message: unknown; done: Done }
  /** Its effect is recorded on its own. */
  | { kind: 'recorded' }
  | NextTry
  | { kind: 'notBegun'; message: unknown; delayMs: number }
  | { kind: 'alone'; message: unknown };

interface Parts {
  stages: readonly Stage[];
  effects: Pick<Effects, 'hasMessage' | 'recordMessage'>;
  sendAgain: SendAgain;
  instance: Pick<Instance, 'name' | 'clock' | 'telemetry'>;
  /** Does a work item as if it had come alone: under its lease, with a record of its own. */
  once: (read: ReadWorkItem) => Promise<unknown>;
  run: (read: ReadWorkItem, lease: Lease) => Promise<RecordedEffect>;
}

/**
 * Creates the consumer of messages of several work items. Such a message rejects only if something cannot be sent again; it
 * is then delivered again, and what was done is done again.
 */
export function createProcessSeveral({ stages, effects, sendAgain, instance, once, run }: Parts) {
  const { clock, telemetry } = instance;
  const limits = new Map<Stage, LimitFunction>(stages.map((stage) => [stage, pLimit(sideBySide)]));

  return async (message: unknown, items: readonly unknown[]): Promise<'done' | 'doneBefore'> => {
    const id = messageId(message);
    const seen = await effects.hasMessage(id).catch((error: unknown) => ({ error }));
    if (seen === true) return 'doneBefore';
    const until = clock.monotonic() + mostBeginningMs;
    const tried = await Promise.all(items.map((item) => tryOne(item, { seen, until })));
    for (const one of tried)
      if ('message' in one) one.message = withTrace(one.message, traceparentOf(message));
    await sendOn(tried);
    await record(id, tried);
    return 'done';
  };

  async function tryOne(
    message: unknown,
    { seen, until }: { seen: false | { error: unknown }; until: number },
  ): Promise<Tried> {
    try {
      const read = readWorkItem(stages, message);
      if (seen !== false) return afterFailure(message, seen.error);
      const { item, stage } = read;
      const limit = limits.get(stage) ?? pLimit(sideBySide);
      return await limit(async () => {
        if (clock.monotonic() > until) return { kind: 'notBegun', message, delayMs: 0 };
        if (stage.lease) {
          await inItemSpan(item, () => once(read));
          return { kind: 'recorded' };
        }
        const lease = noLease(item.resourceId, { instance: instance.name, job: stage.name });
        const effect = await inItemSpan(item, () => run(read, lease));
        return { kind: 'done', message, done: { item, effect } };
      });
    } catch (error) {
      return afterFailure(message, error);
    }
  }

  function afterFailure(message: unknown, error: unknown): Tried {
    return nextTry(message, error, { stages, now: clock.now() }) ?? { kind: 'alone', message };
  }

  async function sendOn(tried: readonly Tried[]): Promise<void> {
    for (const one of tried) if (one.kind === 'alone') await sendAgain(one.message, aloneAfterMs);
    const later = tried.filter((one) => 'delayMs' in one);
    for (const alike of Map.groupBy(later, ({ kind }) => kind).values()) {
      const delayMs = Math.max(...alike.map((one) => one.delayMs));
      for (const message of workItemMessages(alike.map((one) => one.message))) {
        await sendAgain(message, delayMs);
      }
    }
    for (const one of later) {
      if (one.kind !== 'postponed') continue;
      countPostponed(telemetry, one);
    }
  }

  async function record(id: string, tried: readonly Tried[]): Promise<void> {
    const some = tried.filter((one) => one.kind === 'done');
    if (some.length === 0) return;
    try {
      await effects.recordMessage(
        id,
        some.map(({ done }) => done),
      );
    } catch (error) {
      await sendOn(some.map(({ message }) => afterFailure(message, error)));
      return;
    }
    for (const { done } of some) telemetry.count(metric.workItemDone, { stage: done.item.stage });
  }
}

/** The same text has the same id. What is sent again differs: in the history of its retries, or because items are missing. */
function messageId(message: unknown): string {
  return `message:${createHash('sha256').update(JSON.stringify(message)).digest('base64url')}`;
}
