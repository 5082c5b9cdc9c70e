/**
 * An outbox message and its states:
 *
 *   pending ──sent──► dispatched (expires after a week)
 *      │  ▲
 *      │  └── redrive (a person, through ops)
 *      └──10 failed tries, or refused for good──► parked
 *
 * It is created in the same transaction as the change that it tells of, in the same container and partition, because a
 * Cosmos transaction covers one logical partition
 * (https://learn.microsoft.com/azure/architecture/databases/guide/transactional-out-box-cosmos). Only the dispatcher and
 * the sweeper move it. `nextAttemptAt` is set while there is something to do.
 */
import { z } from 'zod';
import { formatVersion } from '../documents/storedDocuments.ts';

export const outboxStatuses = ['pending', 'dispatched', 'parked'] as const;
export type OutboxStatus = (typeof outboxStatuses)[number];

export const outboxMessageSchema = z.object({
  /** Also the id of the message on Service Bus, for duplicate detection. */
  id: z.string(),
  /** The partition, which it shares with what it tells of. */
  shard: z.string(),
  type: z.literal('outboxMessage'),
  /** Absent in messages of the first release; see documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  status: z.enum(outboxStatuses),
  createdAt: z.string(),
  /** The earliest time to send it, if that is later than its creation: ISO 8601. */
  notBefore: z.string().exactOptional(),
  nextAttemptAt: z.string().exactOptional(),
  attempts: z.int(),
  lastError: z.string().exactOptional(),
  /** Seconds after the last write until Cosmos deletes it; set only once it has been dispatched. */
  ttl: z.int().exactOptional(),
  /** The name of a destination of the dispatcher. */
  destination: z.string(),
  /** The outbox only carries it: its meaning is the destination's. */
  body: z.json(),
});
export type OutboxMessage = z.infer<typeof outboxMessageSchema>;

/** A message without what it carries. */
export const outboxEntrySchema = outboxMessageSchema.omit({ body: true, ttl: true });
export type OutboxEntry = z.infer<typeof outboxEntrySchema>;

/** How long the sweeper leaves a new message to the instance that wrote it, which dispatches it at once. */
const inlineDispatchMs = 10_000;

/**
 * A new message, to be created in the transaction of the change that it tells of. `now` and `notBefore` are in
 * milliseconds; with `notBefore` the sweeper dispatches it, at that time or soon after.
 */
export function newOutboxMessage(
  content: Pick<OutboxMessage, 'id' | 'shard' | 'destination' | 'body'>,
  now: number,
  notBefore?: number,
): OutboxMessage {
  return {
    ...content,
    type: 'outboxMessage',
    version: formatVersion,
    status: 'pending',
    createdAt: new Date(now).toISOString(),
    ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore).toISOString() }),
    nextAttemptAt: new Date(notBefore ?? now + inlineDispatchMs).toISOString(),
    attempts: 0,
  };
}

/** How long a message has been waiting to be sent at `now` (milliseconds), in milliseconds. */
export function waitedMs({ createdAt, notBefore = createdAt }: OutboxMessage, now: number): number {
  return Math.max(0, now - Date.parse(notBefore));
}
