import { exponentialBackoff } from '@payonce/leases/backoff';
import { type Clock, systemClock } from '@payonce/leases/clock';
import { type DocumentStore, type Operation, refusedBecause, StoreAway } from './documentStore.ts';

/**
 * The write loop: the one way in which a conditional transaction is run. Every write of the app needs the same care:
 *
 *   run the transaction ──committed──► done
 *      ▲      │ refused, or no clear answer (then wait)
 *      │      ▼
 *      │   reread ──it was applied: only the answer was lost──► done
 *      │      │
 *      └── drop what is no longer ours, keep the rest
 *
 * One contended item refuses the whole transaction. Dropping it and going again means that it holds up nobody else.
 */

export interface Patience {
  /** Transactions sent in all. */
  readonly tries: number;
  /** Milliseconds to wait after an answer that was not clear; doubles from `base` up to `cap`. */
  readonly delayMs: { readonly base: number; readonly cap: number };
  /** Action after an answer that was not clear: retry, or stop without a reread. */
  readonly afterUnclear: 'goOn' | 'stop';
}

const delayMs = { base: 200, cap: 4_000 };

/**
 * Seven tries wait about fourteen seconds, and twice that if rereads fail too; requests that time out come on top. `brief` is
 * for a write that something else repeats anyway: one more try without the losers, and no wait for a store that gives no clear
 * answer.
 */
export const patience = {
  thorough: { tries: 7, delayMs, afterUnclear: 'goOn' },
  brief: { tries: 2, delayMs, afterUnclear: 'stop' },
} as const satisfies Record<string, Patience>;

/** A write, as the loop has to know it. Only `reread` and `onRefused` do I/O. */
export interface ConditionalWrite<Item, Stored> {
  readonly partition: string;
  readonly items: readonly Item[];
  /** The operations that write these items, all or none. */
  plan(items: readonly Item[]): readonly Operation[];
  /** Reads what is stored now. @throws {StoreAway} `noAnswer` counts as an answer that is not clear */
  reread(items: readonly Item[]): Promise<Stored>;
  /** True if this very transaction was applied. Absent: there is no way to tell, so `keep` judges every item. */
  isApplied?(stored: Stored): boolean;
  /** The items that are still ours to write. `codes`: one per operation after a refusal; none after an unclear answer. */
  keep(items: readonly Item[], stored: Stored, codes: readonly number[]): readonly Item[];
  /** Called before each try: throws if this process may not write any more. */
  beforeTry?(): void;
  /** Called after a refusal, before the reread, with the status code of each operation: prepares the next try, or throws. */
  onRefused?(operations: readonly Operation[], codes: readonly number[]): Promise<void>;
  /** Called after an answer that was not clear: from here on the transaction may have been applied. */
  onUnclear?(): void;
}

export type Written<Item> =
  /** `found`: the answer was lost, and the reread shows that it was applied. */
  | { kind: 'written'; items: readonly Item[]; found: boolean }
  /** Every item was dropped. */
  | { kind: 'nothingLeft' }
  /** These items may or may not have been written. */
  | { kind: 'unclear'; items: readonly Item[]; tries: number; cause: unknown };

/**
 * Writes items as described above. @throws {StoreAway} the store refuses the app as such; and what `beforeTry` and `onRefused`
 * throw
 */
export async function writeUntilClear<Item, Stored>(
  { documents, clock = systemClock }: { documents: DocumentStore; clock?: Clock },
  write: ConditionalWrite<Item, Stored>,
  { tries, delayMs: delay, afterUnclear }: Patience = patience.thorough,
): Promise<Written<Item>> {
  let { items } = write;
  let cause: unknown;
  for (let tried = 1; tried <= tries && items.length > 0; tried++) {
    write.beforeTry?.();
    const operations = write.plan(items);
    const answer = await documents.transact(write.partition, operations);
    if (answer.kind === 'committed') return { kind: 'written', items, found: false };
    if (answer.kind === 'refused') await write.onRefused?.(operations, answer.codes);
    else {
      cause = answer.cause;
      write.onUnclear?.();
      if (afterUnclear === 'stop') break;
      await clock.sleep(exponentialBackoff(tried, delay));
    }
    let stored: Stored;
    try {
      stored = await write.reread(items);
    } catch (error) {
      if (!(error instanceof StoreAway) || error.reason !== 'noAnswer') throw error;
      // Usually the same moment of weakness.
      cause = error;
      if (afterUnclear === 'stop') break;
      await clock.sleep(exponentialBackoff(tried, delay));
      continue;
    }
    if (write.isApplied?.(stored) === true) return { kind: 'written', items, found: true };
    items = write.keep(items, stored, answer.kind === 'refused' ? answer.codes : []);
  }
  return items.length === 0 ? { kind: 'nothingLeft' } : { kind: 'unclear', items, tries, cause };
}

/**
 * Stores a document unless one with its id is there, and returns the one that is stored: the first process decides for all. The
 * partition is the document's `shard`. @throws {StoreAway}
 */
export async function keepFirst(
  documents: DocumentStore,
  document: { readonly id: string; readonly shard: string; readonly [field: string]: unknown },
): Promise<unknown> {
  const { id, shard } = document;
  const [before] = await documents.read(shard, [id]);
  if (before !== undefined) return before;
  const answer = await documents.transact(shard, [{ kind: 'create', document }]);
  if (answer.kind === 'committed') return document;
  const taken = answer.kind === 'refused' && answer.codes[0] === refusedBecause.taken;
  const [stored] = taken ? await documents.read(shard, [id]) : [];
  if (stored !== undefined) return stored;
  throw new StoreAway('noAnswer', answer, `document "${id}" could be neither stored nor read back`);
}
