import { systemId } from '@payonce/jobs/documents';
import type { Invoice, NewInvoice, StoredEntry } from './invoice.ts';
import { searchTerms } from './searchTerms.ts';
import { contentHash } from './tombstone.ts';

/** Stands in the place of the customer's id in an invoice whose customer has been erased. */
export const erasedCustomer = systemId('erased');

/** The parts of a timeline entry that are about the money or the process. Reasons and messages are free text. */
const keptOfEntry = ['at', 'what', 'by', 'write', 'paymentId', 'amountMinor', 'keyNumber', 'archivedAt'];

/**
 * An invoice without what tells of a person. The books keep its id, amounts, dates, status, the ids of payment, refunds and
 * disputes, and who did what. A hash of what was imported stays, so that the same row is a duplicate for good. Pure.
 */
export function withoutPerson(invoice: Invoice, { at, by }: { at: string; by: string }): NewInvoice {
  const kept = without(invoice, 'description', 'paymentMethod', 'reason', 'archivedAt', '_etag');
  const { reversals, importedDueAt = invoice.dueAt, timeline } = kept;
  return {
    ...kept,
    customerId: erasedCustomer,
    terms: searchTerms({ id: kept.id, customerId: erasedCustomer }),
    payment: without(kept.payment, 'method', 'paramsHash'),
    ...(reversals !== undefined && {
      reversals: {
        ...reversals,
        refunds: reversals.refunds.map((refund) => without(refund, 'reason', 'failure')),
      },
    }),
    timeline: [...timeline.map(keptOf), { at, what: 'customer erased', by }],
    erased: invoice.erased ?? { at, content: contentHash({ ...invoice, dueAt: importedDueAt }) },
  };
}

function keptOf(entry: StoredEntry): StoredEntry {
  const kept = Object.entries(entry).filter(([name]) => keptOfEntry.includes(name));
  return { ...Object.fromEntries(kept), at: entry.at, what: entry.what, by: entry.by };
}

function without<T extends object, Name extends keyof T & string>(
  object: T,
  ...names: readonly Name[]
): Omit<T, Name> {
  const dropped: readonly string[] = names;
  const kept = Object.entries(object).filter(([name]) => !dropped.includes(name));
  return Object.fromEntries(kept) as Omit<T, Name>;
}
