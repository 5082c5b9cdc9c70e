/**
 * The way of the work items of one message:
 *
 *   done ──► its effect is recorded with those of the others
 *   retry later, or of a newer release ──► sent again later, together with the others like it
 *   not begun within a minute ──► sent again at once, together with the others like it
 *   any other failure ──► sent again alone; from there on it goes the way of a single work item
 *
 * Retries are sent before the effects are recorded: the record says that every item has been dealt with. A crash before it repeats
 * the whole message, so only stages without a lease record their effects here. Those with a lease do so under that lease.
 */
import { createHash } from 'node:crypto';
import { type Lease, noLease } from '@payonce/leases';
import { partMetric } from '@payonce/leases/telemetry';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Instance } from '../instance.ts';
import type { Done, Effects, RecordedEffect } from './effects.ts';
import { countRetried, type NextTry, nextTry, type SendAgain } from './nextTry.ts';
import type { Stage } from './stage.ts';
import {
  inItemSpan,
  type ReadWorkItem,
  readWorkItem,
  traceparentOf,
  withTrace,
  workItemMessages,
} from './workItem.ts';

/** Work items of one stage that this process does at the same time, over all messages: more would only wait for storage. */
const sideBySide = 16;
/** Time for which a message may begin work items (ms): well within the time of a function, however slow each is. */
const mostBeginningMs = 60_000;
/** Delay before a failed work item is retried alone (ms): as long as after a failed delivery. */
const aloneAfterMs = 10_000;

/** Outcome of one work item. */
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

/** Creates the consumer of messages of several work items. It rejects only if something cannot be sent again. */
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
    for (const one of later) if (one.kind === 'retried') countRetried(telemetry, one);
  }

  async function record(id: string, tried: readonly Tried[]): Promise<void> {
    const some = tried.filter((one) => one.kind === 'done');
    if (some.length === 0) return;
    const done = some.map((one) => one.done);
    try {
      await effects.recordMessage(id, done);
    } catch (error) {
      await sendOn(some.map(({ message }) => afterFailure(message, error)));
      return;
    }
    for (const { item } of done) telemetry.count(partMetric.workItemDone, { stage: item.stage });
  }
}

/** The same text has the same id. What is sent again differs: in the history of its retries, or because items are missing. */
function messageId(message: unknown): string {
  return `message:${createHash('sha256').update(JSON.stringify(message)).digest('base64url')}`;
}
