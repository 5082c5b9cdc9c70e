import type { Container, OperationInput } from '@azure/cosmos';
import { cosmosStatus, statusOf } from '../documents/cosmosErrors.ts';

/** A write under a lease that somebody has taken over since: the store has seen a larger fence token. It ends the run. */
export class FencedOut extends Error {
  override readonly name = 'FencedOut';
  constructor(lockKey: string, fence: number) {
    super(`the fence token ${fence} of lock ${lockKey} is older than the store has seen`);
  }
}

/**
 * The one operation of a batch that makes the store refuse it under a smaller fence token than it has seen for this lock
 * in this shard (Kleppmann, "How to do distributed locking", 2016).
 */
export function fenceCheck(lockKey: string, fence: number): OperationInput {
  return {
    operationType: 'Patch',
    id: fenceId(lockKey),
    resourceBody: {
      condition: `from c where c.fence <= ${fence}`,
      operations: [{ op: 'set', path: '/fence', value: fence }],
    },
  };
}

/** Creates the fence document of a lock in a shard, if nobody has: needed once in the life of both. */
export async function createFence(
  container: Container,
  { lockKey, shard }: { lockKey: string; shard: string },
): Promise<void> {
  try {
    await container.items.create({ id: fenceId(lockKey), shard, type: 'fence', fence: 0 });
  } catch (error) {
    if (statusOf(error) !== cosmosStatus.conflict) throw error;
  }
}

/** Cosmos allows none of / \ ? # in an id, and different keys must not share a fence. */
function fenceId(lockKey: string): string {
  return `fence:${encodeURIComponent(lockKey)}`;
}
