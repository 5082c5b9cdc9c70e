import { type DocumentStore, maxOperations, StoreAway } from '../documents/documentStore.ts';
import type { Page } from '../documents/pages.ts';
import { readableDocuments } from '../documents/storedDocuments.ts';
import { patience, writeUntilClear } from '../documents/writeUntilClear.ts';
import type { Clock } from '../platform/clock.ts';
import {
  type DispatchDecision,
  dispatchPatch,
  type OutboxEntry,
  type OutboxMessage,
  type OutboxStatus,
  outboxMessageSchema,
} from './outboxMessage.ts';

/** What became of the dispatch of one message. */
export interface Dispatched {
  message: OutboxMessage;
  decision: DispatchDecision;
}

/** What narrows a list of messages. What is absent does not matter. */
export interface OutboxFilter {
  status?: OutboxStatus;
  destination?: string;
  /** Part of the last error, in any case. */
  error?: string;
  /** Written before this time, or at this time or later: ISO 8601, UTC, with milliseconds. */
  before?: string;
  after?: string;
}

export type DiscardedMessage = { kind: 'discarded'; message: OutboxEntry } | Refused;

export type RedrivenMessage = { kind: 'redriven'; message: OutboxEntry } | Refused;

type Refused =
  | { kind: 'notFound' }
  /** With what an earlier call left in the message, if there was one. */
  | ({ kind: 'refused'; status: OutboxStatus } & Pick<OutboxEntry, 'redrivenBy' | 'discarded'>);

export interface DueQuery {
  now: string;
  limit: number;
  shard?: string;
  except?: { shards: readonly string[]; destinations: readonly string[] };
}

/**
 * What the outbox needs of the place where its messages are kept. Messages are created elsewhere: in the transaction of
 * the change that they announce. `src/testing/outbox/outboxStoreContract.ts` says how a store behaves. All methods may reject with
 * `StoreAway`.
 */
export interface OutboxStore {
  /**
   * Pending messages of all partitions whose next try is due at `now` (ISO 8601, UTC), longest waiting first. `more`: there
   * may be others behind these. `shard`: of this partition only. `except`: without those of these partitions, and without
   * those for these destinations.
   */
  due(query: DueQuery): Promise<{ messages: OutboxMessage[]; more: boolean }>;
  /**
   * Records what became of messages, as long as nobody else has recorded something since they were read. Does not wait for
   * a store that gives no clear answer, and does not reject for its sake. Returns for how many the answer was not clear:
   * those that are still pending are sent again.
   */
  mark(dispatched: readonly Dispatched[]): Promise<{ unclear: number }>;
  /**
   * A page of messages of all partitions. Those that wait (pending, parked) come longest waiting first; dispatched ones,
   * and all together, newest first. @throws {BadContinuation}
   */
  list(query: OutboxFilter & { continuation?: string; pageSize: number }): Promise<Page<OutboxEntry>>;
  /** How many messages match, over all partitions. */
  count(filter: OutboxFilter): Promise<number>;
  /**
   * Puts a parked message back to pending at `at` (ISO 8601), as if it had been written then; the sweeper dispatches it.
   * `runId`: the bulk run that does it, which the message then names.
   * This undoes nothing that has been settled since: its receiver looks at the claims and effects as they are then. @throws {NewerVersion}
   */
  redrive(id: string, at: string, runId?: string): Promise<RedrivenMessage>;
  /**
   * Gives a parked message up for good: it counts as dispatched and expires, with `discarded` saying who decided that and
   * why. @throws {NewerVersion}
   */
  discard(id: string, why: NonNullable<OutboxEntry['discarded']>): Promise<DiscardedMessage>;
  /** Since when (ISO 8601) the oldest pending message has been waiting; a failed send counts from its beginning. */
  oldestPending(): Promise<string | undefined>;
  parkedCount(): Promise<number>;
}

/** The writes of an outbox store, on whatever keeps the documents. */
export function outboxWrites(store: { documents: DocumentStore; clock: Clock }): Pick<OutboxStore, 'mark'> {
  return { mark: (dispatched) => markDispatched(store, dispatched) };
}

/** Records what became of messages, many to a transaction. */
async function markDispatched(
  store: { documents: DocumentStore; clock: Clock },
  dispatched: readonly Dispatched[],
): Promise<{ unclear: number }> {
  const marks = oneOfEach(dispatched).flatMap(({ message, decision }) => {
    const patch = dispatchPatch(message, decision);
    return patch === undefined ? [] : [{ message, patch }];
  });
  const shards = [...Map.groupBy(marks, ({ message }) => message.shard)];
  const unclear = await Promise.all(shards.map(([shard, group]) => markAll(shard, group)));
  return { unclear: unclear.reduce((sum, count) => sum + count, 0) };

  async function markAll(shard: string, group: typeof marks): Promise<number> {
    let open = 0;
    for (let start = 0; start < group.length; start += maxOperations) {
      open += await markSome(shard, group.slice(start, start + maxOperations));
    }
    return open;
  }

  /** Messages that somebody else has marked meanwhile are dropped: they need no mark of ours. */
  async function markSome(shard: string, items: typeof marks): Promise<number> {
    try {
      const written = await writeUntilClear(
        store,
        {
          partition: shard,
          items,
          plan: (some) => some.map(({ patch }) => patch),
          reread: async (some) => {
            const documents = await store.documents.read(
              shard,
              some.map(({ message }) => message.id),
            );
            return readableDocuments(documents, outboxMessageSchema, 'outboxMessage');
          },
          keep(some, stored) {
            const byId = new Map(stored.map((message) => [message.id, message]));
            return some.filter(({ message: { id, attempts } }) => {
              const now = byId.get(id);
              return now?.status === 'pending' && now.attempts === attempts;
            });
          },
        },
        patience.brief,
      );
      return written.kind === 'unclear' ? written.items.length : 0;
    } catch (error) {
      if (error instanceof StoreAway) return items.length;
      throw error;
    }
  }
}

/**
 * A message can be in one round twice: from the instance that wrote it, and from its sweeper. In one transaction two marks
 * of it would refuse each other, so one is left out; if one of the two was sent, that one counts.
 */
function oneOfEach(dispatched: readonly Dispatched[]): Dispatched[] {
  const isSent = ({ decision }: Dispatched) => decision.kind === 'dispatched';
  const others = dispatched.filter((one) => !isSent(one));
  return [...new Map([...others, ...dispatched.filter(isSent)].map((one) => [one.message.id, one])).values()];
}
