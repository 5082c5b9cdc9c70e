import { shardNames, shardOf } from '../../../src/invoice/shard.ts';
/**
 * Invoices that are due, and so many that they do not fit into memory. Each shard has the numbers of its own. What a query
 * may find is stored a little ahead of it, and what was paid a while ago is forgotten.
 */
import { newInvoice } from '../../../src/invoice/store/invoiceWrites.ts';
import type { FilledDocuments, MemoryDocuments } from '../../memory/memoryDocuments.ts';

/** So many pending invoices are stored in a shard before it is read: more than readers hold and a page has, together. */
const storedAhead = 1_200;

export interface LazyInvoices {
  /** The store, filled up before each query of one shard. */
  documents: MemoryDocuments;
  /** Number of invoices that are not stored yet. */
  readonly left: number;
}

export function lazyInvoices(
  store: FilledDocuments,
  { count, shards, dueAt }: { count: number; shards: number; dueAt: string },
): LazyInvoices {
  const numbers = new Map(shardNames(shards).map((shard) => [shard, [] as number[]]));
  for (let n = count - 1; n >= 0; n--) numbers.get(shardOf(idOf(n), shards))?.push(n);
  let left = count;

  return {
    documents: {
      ...store,
      async query(matches, partition, kind) {
        if (partition !== undefined && kind?.type === 'invoice') await fill(partition);
        return store.query(matches, partition, kind);
      },
    },
    get left() {
      return left;
    },
  };

  async function fill(shard: string): Promise<void> {
    const rest = numbers.get(shard) ?? [];
    if (rest.length === 0) return;
    const stored = await store.count((one) => one.shard === shard, { type: 'invoice', status: 'pending' });
    for (let n = stored; n < storedAhead; n++) {
      const number = rest.pop();
      if (number === undefined) return;
      left--;
      store.store({ ...contentOf(number, shard) });
    }
  }

  function contentOf(n: number, shard: string) {
    const content = {
      id: idOf(n),
      customerId: `cus-${n % 100_000}`,
      amountMinor: 1_000 + (n % 9_000),
      currency: 'USD',
      dueAt,
      paymentMethod: `pm-${n % 100_000}`,
    };
    return newInvoice(content, { shard, at: dueAt, by: 'import' });
  }
}

function idOf(n: number): string {
  return `inv-${n}`;
}
