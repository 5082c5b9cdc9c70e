import type { Invoice } from '../src/invoice/invoice.ts';
import type { InvoiceStore } from '../src/invoice/store/invoiceStore.ts';
import type { JournalLine } from '../src/ops/auditTrail.ts';
import { type JournaledChange, journaledChanges } from './readJournal.ts';

/**
 * The changes that people have made since a time (ISO 8601, UTC) and that a restored database lacks, in the order of time: what
 * was voided, moved, or given another payment method. Of several changes of one kind to an invoice, the last counts; an undone
 * void is of the kind of a void, unless nobody knows that it was done.
 */
export async function changesLost(
  lines: AsyncIterable<JournalLine> | Iterable<JournalLine>,
  invoices: Pick<InvoiceStore, 'find'>,
  since: string,
): Promise<JournaledChange[]> {
  const changes = await journaledChanges(lines, since);
  const latest = new Map(changes.map((one) => [kindOf(one), one]));
  const lost: JournaledChange[] = [];
  for (const one of changes.filter((each) => latest.get(kindOf(each)) === each)) {
    if (isLacking(await invoices.find(one.invoiceId), one)) lost.push(one);
  }
  return lost;
}

function kindOf({ change: { kind }, invoiceId, answered }: JournaledChange): string {
  return `${kind === 'void undone' && answered ? 'voided' : kind} ${invoiceId}`;
}

/** True if the invoice of the copy lacks a change that still matters. One that is not there will, once it is imported. */
function isLacking(invoice: Invoice | undefined, { change }: JournaledChange): boolean {
  if (change.kind === 'void undone') return invoice?.status === 'voided';
  if (invoice === undefined) return true;
  const { status, dueAt, payment } = invoice;
  if (status === 'voided' || status === 'paid') return false;
  switch (change.kind) {
    case 'voided':
      return true;
    case 'dueDate':
      return status !== 'processing' && dueAt !== change.dueAt;
    case 'paymentMethod':
      return status !== 'processing' && payment.method?.id !== change.paymentMethod;
  }
}
