/**
 * The record of a work item that failed at every delivery:
 *
 *   poison ──redrive (a person, through ops)──► redriven
 *      └─────discard (a person, with a reason)──► discarded
 *
 * The queue moves such a message to its poison queue without saying why. So each failure leaves its error behind (the last of each
 * work item stays), and the poison record takes it over. The items of one message are sent again, each alone: one that crashes the
 * process at every delivery takes none of the others with it.
 */

import { exponentialBackoff } from '@payonce/leases/backoff';
import { type Clock, systemClock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { StoreAway } from '../documents/documentStore.ts';
import { mayRetryLater, RetryLater, type SendAgain } from './nextTry.ts';
import { sendOnce, afresh } from './sendOnce.ts';
import type { Stage } from './stage.ts';
import { itemsOf, readWorkItem, type WorkItem, workItemSchema } from './workItem.ts';

export const poisonSchema = z.object({
  id: z.string(),
  resourceId: z.string(),
  status: z.enum(['poison', 'redriven', 'discarded']),
  /** The message as it was. */
  text: z.string(),
  reason: z.string(),
  at: z.string(),
  _etag: z.string(),
});
export type PoisonItem = z.infer<typeof poisonSchema>;

/** Keeps failures and poison records. All methods may reject with `StoreAway`. */
export interface PoisonStore {
  keepFailure(item: WorkItem, failure: { error: string; at: string }): Promise<void>;
  /** The error of the last failed delivery, if it was kept. */
  lastFailure(item: WorkItem): Promise<string | undefined>;
  /** Creates a record; the first one with this id stays. */
  create(record: Omit<PoisonItem, '_etag'>): Promise<void>;
  /** The first of those that wait, or the first behind this id, in the order of their ids. */
  list(limit: number, behind?: string): Promise<PoisonItem[]>;
  /** Those of these that wait. */
  find(ids: readonly string[]): Promise<PoisonItem[]>;
  /** Number of records that wait for a decision. */
  waiting(): Promise<number>;
  /** True if the record still waits and is as it was read. */
  isUnchanged(item: PoisonItem): Promise<boolean>;
  /** Marks a record as sent again at `at`, if it is still as it was read. */
  markRedriven(item: PoisonItem, at: string): Promise<void>;
  /** Marks a record as thrown away at `at`; false if it is no longer as it was read. */
  markDiscarded(item: PoisonItem, why: { at: string; by: string; reason: string }): Promise<boolean>;
}

/** The resource id that stands in for one that cannot be read. */
const unreadable = '(unreadable)';
const idPrefix = 'poison:';
const longestReason = 1_000;
/**
 * Time for which one delivery tries to record while the store is away, and delay until the message comes again (ms). After five failures nothing would ever look at it again, so it does not fail: a copy takes its place.
 */
const longestRecordingMs = 120_000;
const recordAgainMs = 120_000;
/** Time for which it tries if the queue does not take the copy either (ms): a function may run for ten minutes. */
const longestDeliveryMs = 480_000;
/** Milliseconds between the tries: 1 s, 2 s, 4 s … 30 s. */
const backoff = { base: 1_000, cap: 30_000 };

/** True for the id of a poison record. */
export function isPoisonId(id: string): boolean {
  return id.startsWith(idPrefix);
}

export interface PoisonItems {
  /** Keeps the error of a failed delivery, in case the message turns out to be poison. */
  noteFailure(message: unknown, error: unknown): Promise<void>;
  /**
   * Records a message of the poison queue once, or sends its work items again one by one. If the store stays away, the
   * message goes back to the poison queue for a while, however often that takes. `messageId` is the queue's. Returns why it is there, or what became of it.
   */
  record(message: unknown, messageId: string): Promise<string>;
  list(limit: number, behind?: string): Promise<PoisonItem[]>;
  find(ids: readonly string[]): Promise<PoisonItem[]>;
  waiting(): Promise<number>;
  /** Sends a recorded message again as if it had never been tried, then marks it; false if somebody else has. */
  redrive(item: PoisonItem, send: (text: string) => Promise<unknown>): Promise<boolean>;
  /** Gives a recorded message up for good; false if somebody else has dealt with it. */
  discard(item: PoisonItem, why: { by: string; reason: string }): Promise<boolean>;
}

/** Records messages that failed at every delivery, and sends them again or discards them. */
export function poisonItems({
  store,
  stages,
  sendAgain,
  putBack,
  clock = systemClock,
}: {
  store: PoisonStore;
  stages: readonly Stage[];
  sendAgain: SendAgain;
  /** Sends a message to the poison queue itself. */
  putBack: SendAgain;
  clock?: Clock;
}): PoisonItems {
  const iso = () => new Date(clock.now()).toISOString();
  const putBackOnce = sendOnce(putBack, clock);
  const sendAlone = sendOnce(sendAgain, clock);

  return {
    list: (limit, behind) => store.list(limit, behind),
    find: (ids) => store.find(ids),
    discard: (item, why) => store.markDiscarded(item, { ...why, at: iso() }),
    waiting: () => store.waiting(),

    async noteFailure(message, error) {
      const parsed = workItemSchema.safeParse(message);
      if (!parsed.success) return;
      await store.keepFailure(parsed.data, { error: brief(errorText(error)), at: iso() });
    },

    async record(message, messageId) {
      const began = clock.monotonic();
      for (let tried = 1; ; tried++) {
        try {
          const items = itemsOf(message);
          return await (items === undefined ? recordOnce(message, messageId) : sendApart(items));
        } catch (error) {
          const waitMs = exponentialBackoff(tried, backoff);
          if (!mayRetryLater(error)) throw error;
          const byThenMs = clock.monotonic() + waitMs - began;
          if (byThenMs > longestRecordingMs) {
            try {
              await putBackOnce(message, recordAgainMs);
              return `it cannot be recorded now and stays in the poison queue: ${errorText(error)}`;
            } catch (failure) {
              if (byThenMs > longestDeliveryMs) throw failure;
            }
          }
          await clock.sleep(waitMs);
        }
      }
    },

    async redrive(item, send) {
      if (!(await store.isUnchanged(item))) return false;
      // Sent before it is marked: a crash in between sends it twice, and the recorded effect makes that harmless.
      await send(afresh(item.text));
      await store.markRedriven(item, iso());
      return true;
    },
  };

  async function recordOnce(message: unknown, messageId: string): Promise<string> {
    const reason = brief(await whyItFailed(message));
    const parsed = workItemSchema.safeParse(message);
    const resourceId = parsed.success ? parsed.data.resourceId : unreadable;
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const id = `${idPrefix}${messageId}`;
    await store.create({ id, resourceId, status: 'poison', text, reason, at: iso() });
    return reason;
  }

  async function sendApart(items: readonly unknown[]): Promise<string> {
    try {
      for (const item of items) await sendAlone(item, 0);
    } catch (cause) {
      throw new RetryLater(`the queue did not take a work item: ${errorText(cause)}`, { cause });
    }
    return `every delivery of these ${items.length} work items together failed: each was sent again alone`;
  }

  async function whyItFailed(message: unknown): Promise<string> {
    try {
      const { item } = readWorkItem(stages, message);
      const error = await store.lastFailure(item);
      return `every delivery failed; the last: ${error ?? 'no error was left behind'}`;
    } catch (error) {
      if (error instanceof StoreAway) throw error;
      return errorText(error);
    }
  }
}

/** Cut to a length that lists can show, and not through the middle of a character. */
function brief(text: string): string {
  return text.slice(0, longestReason).toWellFormed();
}
