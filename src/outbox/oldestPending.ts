import type { Container } from '@azure/cosmos';
import { z } from 'zod';

const oldestSchema = z.tuple([z.iso.datetime()]);

/**
 * For how long the oldest message of all shards has been waiting to be dispatched at `now`, in milliseconds; 0 where none
 * waits. One whose send failed counts from its beginning, also while it waits for its next try.
 */
export async function oldestPendingMs(container: Container, now: number): Promise<number> {
  const { resources } = await container.items
    .query<unknown>(
      `SELECT VALUE MIN(c.notBefore ?? c.createdAt) FROM c WHERE c.type = 'outboxMessage' AND c.status = 'pending'`,
    )
    .fetchAll();
  // Over no message the answer is empty, or one value that is undefined.
  const oldest = oldestSchema.safeParse(resources);
  return oldest.success ? Math.max(0, now - Date.parse(oldest.data[0])) : 0;
}
