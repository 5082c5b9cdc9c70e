import type { Clock } from '@payonce/leases/clock';
import {
  type Create,
  type DocumentStore,
  type Operation,
  refusedBecause,
  StoreAway,
} from '../documents/documentStore.ts';
import { systemId } from '../documents/storedDocuments.ts';
import { writeUntilClear } from '../documents/writeUntilClear.ts';

/** The fencing token of a lease, as it travels with every write that the lease protects. */
export interface Fence {
  readonly lockKey: string;
  readonly token: number;
}

/** The store has seen a larger fencing token: somebody else has the lease. It ends the run. */
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

/** Creates the fence document of a lock in a partition: its key and value, or a text for `{ shard: text }`. Needed once. */
export function newFence(lockKey: string, partition: string | Readonly<Record<string, string>>): Create {
  const key = typeof partition === 'string' ? { shard: partition } : partition;
  const document = { id: fenceId(lockKey), ...key, type: 'fence', fence: 0 };
  return { kind: 'create', document };
}

/** A document as it was read. A claim wins it only if nobody has written it since. */
export interface ReadDocument {
  readonly id: string;
  readonly _etag: string;
}

/** Documents of one partition that a holder of a lease wants for itself. */
export interface ClaimWrite<Item extends ReadDocument> {
  readonly partition: string;
  /** The partition key and its value, such as `{ tenantId: 'a' }`. Default: `{ shard: partition }`. */
  readonly partitionKey?: Readonly<Record<string, string>>;
  readonly items: readonly Item[];
  /** Of the lease under which they are claimed. */
  readonly fence: Fence;
  /**
   * Plans the claim: a patch of each item, with its ETag as `version`, and whatever belongs in the same transaction. At most 99
   * operations: the fence is the hundredth.
   */
  plan(items: readonly Item[]): readonly Operation[];
  /** The documents that still have the right shape. */
  parse(documents: readonly unknown[]): readonly Item[];
  /** True if this very claim was applied: some of the items name it. */
  isApplied(stored: readonly Item[]): boolean;
  /** Called before each try: throws if the lease is lost. */
  beforeTry?(): void;
  /** Called after a refusal with the operations of `plan` and the status code of each: prepares the next try, or throws. */
  onRefused?(operations: readonly Operation[], codes: readonly number[]): Promise<void>;
}

export interface ClaimedDocuments<Item> {
  /** The items as they were read; none if everything was lost to others. */
  claimed: readonly Item[];
  /** Number of items that were not claimed: somebody else was first, or the store gave no clear answer. */
  contended: number;
}

/**
 * Claims documents in one transaction, which checks the fence and every ETag. Items that somebody else has changed are dropped
 * and the rest tried again. @throws {FencedOut}; {StoreAway} the store refuses the app as such; {Error} it refuses the fence; and
 * what `beforeTry` throws
 */
export async function claimDocuments<Item extends ReadDocument>(
  store: { documents: DocumentStore; clock?: Clock },
  write: ClaimWrite<Item>,
): Promise<ClaimedDocuments<Item>> {
  const { documents } = store;
  const { partition, partitionKey = partition, items: wanted, fence } = write;
  const written = await writeUntilClear(store, {
    ...write,
    plan: (items) => [fenceCheck(fence), ...write.plan(items)],
    async reread(items) {
      const ids = items.map(({ id }) => id);
      return write.parse(await documents.read(partition, ids));
    },
    keep(items, stored) {
      const etags = new Map(stored.map(({ id, _etag }) => [id, _etag]));
      return items.filter(({ id, _etag }) => etags.get(id) === _etag);
    },
    async onRefused([, ...operations], [ofFence, ...codes]) {
      if (ofFence === refusedBecause.changed) throw new FencedOut(fence);
      if (ofFence !== refusedBecause.missing) {
        await write.onRefused?.(operations, codes);
        return;
      }
      const answer = await documents.transact(partition, [newFence(fence.lockKey, partitionKey)]);
      if (answer.kind === 'uncertain') throw new StoreAway('noAnswer', answer.cause);
      // That another process has just created it is as good.
      if (answer.kind === 'refused' && answer.codes[0] !== refusedBecause.taken) {
        const got = JSON.stringify(partitionKey);
        throw new Error(
          `partitionKey: expected that of partition "${partition}", got ${got}: the store refuses the fence (${answer.codes.join()})`,
        );
      }
    },
  });
  const claimed = written.kind === 'written' ? written.items : [];
  return { claimed, contended: wanted.length - claimed.length };
}

/** Different keys never share a fence. Cosmos allows none of / \ ? # in an id, and its gateway decodes percent-encoding. */
function fenceId(lockKey: string): string {
  return systemId(`fence:${encodeURIComponent(lockKey).replaceAll('%', '=')}`);
}
