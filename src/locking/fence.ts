import type { Create, Operation } from '../documents/documentStore.ts';

/** The fencing token of a lease, as it travels with every write that the lease protects. */
export interface Fence {
  readonly lockKey: string;
  readonly token: number;
}

/** The store has seen a larger fencing token: somebody has taken the lease over. It ends the run. */
export class FencedOut extends Error {
  override readonly name = 'FencedOut';

  constructor({ lockKey, token }: Fence) {
    super(`the fencing token ${token} of lock ${lockKey} is older than the store has seen`);
  }
}

/**
 * The operation that makes the store refuse the transaction if it has seen a larger token for this lock in this
 * partition (Kleppmann, "How to do distributed locking", 2016). The document must be there: see `newFence`.
 */
export function fenceCheck({ lockKey, token }: Fence): Operation {
  return {
    kind: 'patch',
    id: fenceId(lockKey),
    where: [{ path: 'fence', is: '<=', value: token }],
    set: { fence: token },
  };
}

/** Creates the fence document of a lock in a partition, needed once. A conflict means that it is there. */
export function newFence(lockKey: string, shard: string): Create {
  const document = { id: fenceId(lockKey), shard, type: 'fence', fence: 0 };
  return { kind: 'create', document };
}

/** The largest of the tokens that fence documents hold; undefined without one. What is no token is passed over. */
export function highestFence(tokens: readonly unknown[]): number | undefined {
  const known = tokens.filter((token) => typeof token === 'number');
  return known.length === 0 ? undefined : Math.max(...known);
}

/** The id of a lock's fence document. Cosmos allows none of / \ ? # in an id, and different keys must not share a fence. */
export function fenceId(lockKey: string): string {
  return `fence:${encodeURIComponent(lockKey)}`;
}
