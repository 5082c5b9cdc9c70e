import type { Condition, Create, Operation, Patch } from '../documents/documentStore.ts';
import type { Invoice, TimelineEntry } from './invoice.ts';
import { invoiceVersion } from './invoiceVersion.ts';

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
  clear?: readonly ('claim' | 'actionableAt' | 'checkAt' | 'reason' | 'declinedAt')[];
  entry: TimelineEntry;
}

/** Timeline entries that an invoice keeps: an outage of days must not grow the document without bound. */
const maxEntries = 100;

/** Changes an invoice if it is still as it was read. Past the limit its timeline keeps the first entry and the latest. */
export function ifUnchanged(
  invoice: Invoice,
  { set: changed = {}, clear = [], entry }: InvoiceChange,
): Patch {
  const { id, _etag, timeline } = invoice;
  const patch = { kind: 'patch' as const, id, version: _etag };
  const version = invoiceVersion({ ...invoice, ...changed });
  const set = version === (invoice.version ?? 1) ? changed : { ...changed, version };
  const remove = clear.filter((field) => invoice[field] !== undefined);
  if (timeline.length < maxEntries) {
    return { ...patch, set, remove, append: { path: 'timeline', value: entry } };
  }
  const kept = [...timeline.slice(0, 1), ...timeline.slice(-maxEntries / 2), entry];
  return { ...patch, set: { ...set, timeline: kept }, remove };
}

/** Changes an invoice if this batch still has its claim. What is cleared must be there. */
export function ifClaimedBy(
  batchId: string,
  id: string,
  { set = {}, clear = [], entry }: InvoiceChange,
): Patch {
  return {
    kind: 'patch',
    id,
    where: claimedBy(batchId),
    set,
    remove: clear,
    append: { path: 'timeline', value: entry },
  };
}

/** The operations that make these changes, and create the outbox messages that announce them. */
export function operationsOf({
  patches,
  messages,
}: {
  patches: readonly Patch[];
  messages: readonly { readonly id: string }[];
}): Operation[] {
  return [...patches, ...messages.map((document): Create => ({ kind: 'create', document }))];
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
