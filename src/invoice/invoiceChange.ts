import type { Condition, Create, Patch } from '../documents/documentStore.ts';
import { formatVersion } from '../documents/storedDocuments.ts';
import type { Invoice, TimelineEntry } from './invoice.ts';

/** What happens to an invoice in one step. Its timeline says so in the same write. */
export interface InvoiceChange {
  set?: Partial<
    Pick<
      Invoice,
      | 'status'
      | 'claim'
      | 'actionableAt'
      | 'checkAt'
      | 'attempts'
      | 'payment'
      | 'reason'
      | 'declinedAt'
      | 'reversals'
      | 'dueAt'
      | 'importedDueAt'
      | 'version'
    >
  >;
  clear?: readonly ('claim' | 'actionableAt' | 'checkAt' | 'reason' | 'declinedAt' | 'reversals')[];
  entry: TimelineEntry;
}

/** Timeline entries that an invoice keeps: an outage of days must not grow the document without bound. */
const maxEntries = 100;

/**
 * What such a timeline keeps is no longer than this, as JSON, in bytes. A transaction holds 2 MB
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch), and a claim may rewrite 75 timelines.
 */
const keptBytes = 8 * 1024;

/** Characters of a reason that are stored: providers and stores give texts of any length. */
export const longestReason = 500;

/** Changes an invoice if it is still as it was read. Past the limit its timeline keeps the first entry and the latest. */
export function ifUnchanged(invoice: Invoice, change: InvoiceChange): Patch {
  const { set: changed, clear, entry } = bounded(change);
  const { id, _etag, timeline } = invoice;
  const patch = { kind: 'patch' as const, id, version: _etag };
  const set = invoice.version === formatVersion ? changed : { ...changed, version: formatVersion };
  const remove = clear.filter((field) => invoice[field] !== undefined);
  if (timeline.length < maxEntries) {
    return { ...patch, set, remove, append: { path: 'timeline', value: entry } };
  }
  const kept = [...timeline.slice(0, 1), ...latestOf(timeline), entry];
  return { ...patch, set: { ...set, timeline: kept }, remove };
}

/** The change, with the name of the write that applies it: if the answer is lost, the timeline shows that it was applied. */
export function namedWrite(change: InvoiceChange, write: string): InvoiceChange {
  return { ...change, entry: { ...change.entry, write } };
}

export function hasWrite({ timeline }: Pick<Invoice, 'timeline'>, write: string): boolean {
  return timeline.some((entry) => entry.write === write);
}

function latestOf(timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const latest = timeline.slice(-maxEntries / 2);
  let bytes = 0;
  const first = latest.findLastIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    return bytes > keptBytes;
  });
  return latest.slice(first + 1);
}

function bounded({ set = {}, clear = [], entry }: InvoiceChange): Required<InvoiceChange> {
  const reason = typeof entry.reason === 'string' ? { reason: cut(entry.reason) } : {};
  return {
    set: set.reason === undefined ? set : { ...set, reason: cut(set.reason) },
    clear,
    entry: { ...entry, ...reason },
  };
}

function cut(text: string): string {
  return text.length <= longestReason ? text : `${text.slice(0, longestReason - 1)}…`;
}

/** Changes an invoice if this batch still has its claim, and `also` holds. What is cleared must be there. */
export function ifClaimedBy(
  batchId: string,
  id: string,
  change: InvoiceChange,
  also: readonly Condition[] = [],
): Patch {
  const { set, clear, entry } = bounded(change);
  return {
    kind: 'patch',
    id,
    where: [...claimedBy(batchId), ...also],
    set: { ...set },
    remove: clear,
    append: { path: 'timeline', value: entry },
  };
}

/** The operations that create the outbox messages which announce a change. */
export function creationsOf(messages: readonly { readonly id: string }[]): Create[] {
  return messages.map((document) => ({ kind: 'create', document }));
}

/** The claim's token, as the condition of every write of a batch: only the batch that the claim names may write. */
export function claimedBy(batchId: string): Condition[] {
  return [
    { path: 'status', is: '=', value: 'claimed' },
    { path: 'claim.batchId', is: '=', value: batchId },
  ];
}

/**
 * How an invoice stands towards a batch that claimed it: `held` if the claim still names the batch; `settled` if nobody is
 * going to call for it.
 */
export type Standing = 'held' | 'settled' | 'staleClaim' | 'missing';

export function standing(invoice: Invoice | undefined, batchId: string): Standing {
  if (invoice === undefined) return 'missing';
  if (invoice.status === 'claimed') return invoice.claim?.batchId === batchId ? 'held' : 'staleClaim';
  return invoice.status === 'pending' ? 'staleClaim' : 'settled';
}
