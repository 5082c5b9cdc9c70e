/**
 * An outbox message and its states:
 *
 *   pending ──sent──► dispatched (expires after a week)
 *      │  ▲
 *      │  └── redrive (a person, through ops)
 *      └──10 failed tries, or refused for good──► parked
 *
 * It is created in the same transaction as the change that it tells of, in the same container and shard: a Cosmos
 * transaction covers one logical partition
 * (https://learn.microsoft.com/azure/architecture/databases/guide/transactional-out-box-cosmos). Only the dispatcher and
 * the sweeper move it. `nextAttemptAt` is there while something is to do.
 */
import { z } from 'zod';

export const destinations = ['payment-commands', 'work-items'] as const;
export type Destination = (typeof destinations)[number];

export const outboxStatuses = ['pending', 'dispatched', 'parked'] as const;

export const outboxMessageSchema = z.object({
  /** Also the id of the message on Service Bus, where duplicate detection sees it. */
  id: z.string(),
  shard: z.string(),
  type: z.literal('outboxMessage'),
  status: z.enum(outboxStatuses),
  createdAt: z.string(),
  /** When it may be sent first, where that is later than its creation: ISO 8601. */
  notBefore: z.string().exactOptional(),
  nextAttemptAt: z.string().exactOptional(),
  attempts: z.int(),
  lastError: z.string().exactOptional(),
  /** Seconds after the last write until Cosmos deletes it; set only when it has been dispatched. */
  ttl: z.int().exactOptional(),
  destination: z.enum(destinations),
  /** What the destination makes of it is the destination's: the outbox carries it. */
  body: z.json(),
});
export type OutboxMessage = z.infer<typeof outboxMessageSchema>;

/** How long the sweeper leaves a new message to the instance that wrote it, which dispatches it at once. */
const inlineDispatchMs = 10_000;

/**
 * A new message, to be created in the transaction of the change that it tells of. `now` in milliseconds; with `notBefore`
 * it is for the sweeper to dispatch, at that time or soon after.
 */
export function newOutboxMessage(
  content: Pick<OutboxMessage, 'id' | 'shard' | 'destination' | 'body'>,
  now: number,
  notBefore?: number,
): OutboxMessage {
  return {
    ...content,
    type: 'outboxMessage',
    status: 'pending',
    createdAt: new Date(now).toISOString(),
    ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore).toISOString() }),
    nextAttemptAt: new Date(notBefore ?? now + inlineDispatchMs).toISOString(),
    attempts: 0,
  };
}

/** How long a message has been waiting at `now` (milliseconds) to be sent, in milliseconds. */
export function waitedMs({ createdAt, notBefore = createdAt }: OutboxMessage, now: number): number {
  return Math.max(0, now - Date.parse(notBefore));
}
