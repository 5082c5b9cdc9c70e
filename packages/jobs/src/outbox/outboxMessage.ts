import { type Clock, systemClock } from '@payonce/leases/clock';
import { z } from 'zod';
import { type DocumentStore, maxOperations, type Patch, StoreAway } from '../documents/documentStore.ts';
import { formatVersion, readableDocuments } from '../documents/storedDocuments.ts';
import { patience, writeUntilClear } from '../documents/writeUntilClear.ts';
import { activeTrace } from '../tracing.ts';
import type { DispatchDecision } from './nextAttempt.ts';

/**
 * An outbox message and its states:
 *
 *   pending ──sent──► dispatched (expires after a week)
 *      │  ▲
 *      │  └── redrive (a person, through ops)
 *      └──its destination rejects it──► parked ──discard (a person)──► dispatched, and marked as discarded
 *
 * A destination that is away changes nothing but `nextAttemptAt`: the message is tried again for as long as that takes.
 *
 * It is created in the same transaction as the change that it announces, in the same container and partition, because a
 * Cosmos transaction covers one logical partition
 * (https://learn.microsoft.com/azure/architecture/databases/guide/transactional-out-box-cosmos). Only the dispatcher and
 * the sweeper move it. `nextAttemptAt` is set while there is something to do.
 */

export const outboxStatuses = ['pending', 'dispatched', 'parked'] as const;
export type OutboxStatus = (typeof outboxStatuses)[number];

export const outboxMessageSchema = z.object({
  /** Also the id of the message on Service Bus, for duplicate detection. */
  id: z.string(),
  /** The partition, which it shares with what it announces. */
  shard: z.string(),
  type: z.literal('outboxMessage'),
  /** Absent: 1. See documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  status: z.enum(outboxStatuses),
  createdAt: z.string(),
  /** Time of its redrive: ISO 8601. Absent: nobody has. */
  notBefore: z.string().exactOptional(),
  nextAttemptAt: z.string().exactOptional(),
  attempts: z.int(),
  lastError: z.string().exactOptional(),
  /** The trace in which it was created (platform/tracing.ts). */
  traceparent: z.string().exactOptional(),
  /** The bulk run that has redriven it last. */
  redrivenBy: z.string().exactOptional(),
  /** It was never sent: a person has given it up. Times are ISO 8601. */
  discarded: z.object({ at: z.string(), by: z.string(), reason: z.string() }).exactOptional(),
  /** Seconds after the last write until Cosmos deletes it; set only once it has been dispatched. */
  ttl: z.int().exactOptional(),
  /** The name of a destination of the dispatcher. */
  destination: z.string(),
  /** The outbox only carries it: its meaning is the destination's. */
  body: z.json(),
});
export type OutboxMessage = z.infer<typeof outboxMessageSchema>;

/** A message without what it carries. */
export const outboxEntrySchema = outboxMessageSchema.omit({ body: true, ttl: true, traceparent: true });
export type OutboxEntry = z.infer<typeof outboxEntrySchema>;

export type NewOutboxMessage = Pick<OutboxMessage, 'id' | 'shard' | 'destination' | 'body'>;

/** Time for which the sweeper leaves a new message to the instance that wrote it (ms), which dispatches it at once. */
const inlineDispatchMs = 10_000;

/**
 * A new message, to be created in the transaction of the change that it announces at `now` (milliseconds). It carries the
 * active trace to its receiver.
 *
 * `shard` is the value of the container's partition key. Unless the key is called that, too, it belongs among the content
 * as well: what else is there is stored with the message.
 */
export function newOutboxMessage<Content extends NewOutboxMessage>(
  content: Content,
  now: number = systemClock.now(),
): Content & OutboxMessage {
  return {
    ...activeTrace(),
    ...content,
    type: 'outboxMessage',
    version: formatVersion,
    status: 'pending',
    createdAt: new Date(now).toISOString(),
    nextAttemptAt: new Date(now + inlineDispatchMs).toISOString(),
    attempts: 0,
  };
}

/** Time for which a message has been waiting to be sent at `now` (ms). */
export function waitedMs({ createdAt, notBefore = createdAt }: OutboxMessage, now: number): number {
  return Math.max(0, now - Date.parse(notBefore));
}

/** Seconds that a dispatched message is kept for people to look at: a week. */
export const dispatchedTtl = 7 * 24 * 3600;

/**
 * The write that a decision asks for. It holds only if nobody has recorded anything since the message was read. The message expires only once it has been dispatched.
 */
export function dispatchPatch(
  { id, attempts }: Pick<OutboxMessage, 'id' | 'attempts'>,
  decision: DispatchDecision,
): Patch {
  const patch: Patch = {
    kind: 'patch',
    id,
    where: [
      { path: 'status', is: '=', value: 'pending' },
      { path: 'attempts', is: '=', value: attempts },
    ],
  };
  switch (decision.kind) {
    case 'dispatched':
      return { ...patch, set: { status: 'dispatched', ttl: dispatchedTtl }, remove: ['nextAttemptAt'] };
    case 'retry': {
      const { attempts: tried, at, error } = decision;
      return { ...patch, set: { attempts: tried, nextAttemptAt: at, lastError: error } };
    }
    case 'parked': {
      const { attempts: tried, error } = decision;
      const set = { status: 'parked', attempts: tried, lastError: error };
      return { ...patch, set, remove: ['nextAttemptAt'] };
    }
  }
}

/** A message and the decision after its send. */
export interface Dispatched {
  message: OutboxMessage;
  decision: DispatchDecision;
}

/**
 * Records what became of messages, many to a transaction, as long as nobody else has recorded something since they were read.
 * Does not wait for a store that gives no clear answer, and does not reject for its sake. Returns for how many the answer was
 * not clear: those that are still pending are sent again.
 */
export async function markDispatched(
  store: { documents: DocumentStore; clock: Clock },
  dispatched: readonly Dispatched[],
): Promise<{ unclear: number }> {
  const byShard = Map.groupBy(oneOfEach(dispatched), ({ message }) => message.shard);
  const transactions = [...byShard].flatMap(([shard, all]) =>
    Array.from({ length: Math.ceil(all.length / maxOperations) }, (_, n) => ({
      shard,
      some: all.slice(n * maxOperations, (n + 1) * maxOperations),
    })),
  );
  const unclear = await Promise.all(transactions.map(mark));
  return { unclear: unclear.reduce((sum, count) => sum + count, 0) };

  /** Messages that somebody else has marked meanwhile are dropped: they need no mark of ours. */
  async function mark({ shard, some }: (typeof transactions)[number]): Promise<number> {
    try {
      const written = await writeUntilClear(
        store,
        {
          partition: shard,
          items: some,
          plan: (items) => items.map(({ message, decision }) => dispatchPatch(message, decision)),
          reread: async (items) => {
            const ids = items.map(({ message }) => message.id);
            const documents = await store.documents.read(shard, ids);
            return readableDocuments(documents, outboxMessageSchema, 'outboxMessage');
          },
          keep(items, stored) {
            const byId = new Map(stored.map((message) => [message.id, message]));
            return items.filter(({ message: { id, attempts } }) => {
              const now = byId.get(id);
              return now?.status === 'pending' && now.attempts === attempts;
            });
          },
        },
        patience.brief,
      );
      return written.kind === 'unclear' ? written.items.length : 0;
    } catch (error) {
      if (error instanceof StoreAway) return some.length;
      throw error;
    }
  }
}

/**
 * A message can be in one round twice: from the instance that wrote it, and from its sweeper. In one transaction two marks
 * of it would refuse each other, so one is left out; if one of the two was sent, that one counts.
 */
function oneOfEach(dispatched: readonly Dispatched[]): Dispatched[] {
  const { sent = [], other = [] } = Object.groupBy(dispatched, ({ decision }) =>
    decision.kind === 'dispatched' ? 'sent' : 'other',
  );
  return [...new Map([...other, ...sent].map((one) => [one.message.id, one])).values()];
}
