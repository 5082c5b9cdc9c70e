import type { Container } from '@azure/cosmos';
import { cosmosStatus } from '../platform/cosmosErrors.ts';
import { type OutboxMessage, outboxMessageSchema } from './outboxMessage.ts';

/** Reads one outbox message; undefined where there is none (any more). */
export async function readOutboxMessage(
  container: Container,
  shard: string,
  id: string,
): Promise<OutboxMessage | undefined> {
  const { statusCode, resource } = await container.item(id, shard).read();
  return statusCode === cosmosStatus.notFound ? undefined : outboxMessageSchema.parse(resource);
}

/** Pending messages of all shards whose next try is due at `now` (ISO 8601, UTC), the longest waiting first. */
export async function dueOutboxMessages(
  container: Container,
  { now, limit }: { now: string; limit: number },
): Promise<OutboxMessage[]> {
  const { resources } = await container.items
    .query({
      query: 'SELECT * FROM c WHERE c.nextAttemptAt <= @now ORDER BY c.nextAttemptAt OFFSET 0 LIMIT @limit',
      parameters: [
        { name: '@now', value: now },
        { name: '@limit', value: limit },
      ],
    })
    .fetchAll();
  return resources.map((item) => outboxMessageSchema.parse(item));
}
