import { z } from 'zod';

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
  /** The trace in which it was created (tracing.ts). */
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

/** Its `id` is unique over all partitions: a redrive or a discard finds the message by it alone. */
export type NewOutboxMessage = Pick<OutboxMessage, 'id' | 'shard' | 'destination' | 'body'>;

/** Seconds that a dispatched message is kept for people to look at: a week. */
export const dispatchedTtl = 7 * 24 * 3600;
