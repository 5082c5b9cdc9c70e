import type { Container } from '@azure/cosmos';
import { type OnUnreadable, readable } from '../documents/readable.ts';
import { readItem } from '../documents/readItem.ts';
import { type OutboxMessage, outboxMessageSchema } from './outboxMessage.ts';

/** Reads one outbox message; undefined where there is none (any more). */
export async function readOutboxMessage(
  container: Container,
  shard: string,
  id: string,
): Promise<OutboxMessage | undefined> {
  const document = await readItem(container, shard, id);
  return document === undefined ? undefined : outboxMessageSchema.parse(document);
}

/**
 * Pending messages of all shards whose next try is due at `now` (ISO 8601, UTC), the longest waiting first; those that
 * cannot be read are passed by. `more`: there may be others behind these.
 */
export async function dueOutboxMessages(
  container: Container,
  { now, limit, onUnreadable }: { now: string; limit: number; onUnreadable?: OnUnreadable },
): Promise<{ messages: OutboxMessage[]; more: boolean }> {
  for (let offset = 0; ; offset += limit) {
    const { resources } = await container.items
      .query<unknown>({
        query:
          'SELECT * FROM c WHERE c.nextAttemptAt <= @now ORDER BY c.nextAttemptAt OFFSET @offset LIMIT @limit',
        parameters: [
          { name: '@now', value: now },
          { name: '@offset', value: offset },
          { name: '@limit', value: limit },
        ],
      })
      .fetchAll();
    const messages = readable(resources, outboxMessageSchema, 'outboxMessage', onUnreadable);
    const more = resources.length === limit;
    // A whole page of unreadable ones would come again and again, and hide what is behind it.
    if (messages.length > 0 || !more) return { messages, more };
  }
}
