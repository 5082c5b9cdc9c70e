import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { changeByPayment } from '../paying/foundPayment.ts';
import { callsOverAt } from '../paying/payingPolicy.ts';
import { checkProvider, onceCallsAreOver, type ProviderView } from './checkProvider.ts';
import { type AfterParts, type Recorded, type RecordParts, record } from './record.ts';

export type CorrectionParts = Omit<AfterParts, 'settlement'>;

/** Why a correction was not made. Nothing was changed, except for a payment that was found. */
export type NotCorrected =
  | { kind: 'notFound' }
  | { kind: 'refused'; status: InvoiceStatus }
  /** The provider has a payment for it. It is recorded: the invoice is paid or processing now. */
  | { kind: 'recorded'; from: InvoiceStatus; status: 'paid' | 'processing'; paymentId: string }
  /** A charge may have gone through, so this cannot be done. */
  | { kind: 'mayBeCharged' }
  /** A call may still be in flight until then (ISO 8601). */
  | { kind: 'wait'; until: string }
  /** The provider has something that a person has to look at. */
  | { kind: 'unclear'; message: string }
  | { kind: 'notCanceled'; paymentId: string; message: string }
  | { kind: 'silent'; message: string }
  /** Others changed the invoice each time before this could be written. */
  | { kind: 'contended' };

/** The invoice as it is now, and as it was. */
export interface Corrected {
  from: InvoiceStatus;
  invoice: Invoice;
}

/** Tries of a correction while somebody else changes the invoice. */
const mostTries = 5;

/**
 * Decides on an invoice until the decision holds: `attempt` may ask the provider, and writes only if nobody has changed the invoice
 * since it was read. `again`: somebody has. @throws {NoClearAnswer} {NewerVersion}
 */
export async function whileUnchanged<Other extends { kind: string }>(
  invoices: Pick<InvoiceStore, 'find'>,
  id: string,
  attempt: (invoice: Invoice) => Promise<Other | 'again'>,
): Promise<Other | Extract<NotCorrected, { kind: 'notFound' | 'contended' }>> {
  for (let tries = 0; tries < mostTries; tries++) {
    const invoice = await invoices.find(id);
    if (invoice === undefined) return { kind: 'notFound' };
    const result = await attempt(invoice);
    if (result !== 'again') return result;
  }
  return { kind: 'contended' };
}

/** Records a change if the invoice is still as it was read. @throws {NoClearAnswer} */
export async function ifStillSo(
  parts: RecordParts,
  { id, _etag, status: from }: Invoice,
  changed: (now: number) => Omit<Recorded, 'kind'>,
): Promise<Corrected | 'again'> {
  const updated = await record<{ kind: 'other' }>(parts, id, (stored, now) =>
    stored._etag === _etag ? { kind: 'change', ...changed(now) } : { kind: 'other' },
  );
  return updated.kind === 'updated' ? { from, invoice: updated.invoice } : 'again';
}

/** Longest wait of a call for its turn (ms): somebody waits for the answer. */
const turnWithinMs = 20_000;

export function callsOf({ provider, instance: { clock } }: Pick<CorrectionParts, 'provider' | 'instance'>) {
  return provider.within({ before: clock.monotonic() + turnWithinMs });
}

/** Asks the provider about an invoice that is to be voided, or charged anew, and says what that means. */
export async function providerSays(parts: CorrectionParts, invoice: Invoice) {
  const askedAt = parts.instance.clock.now();
  const view = await checkProvider(callsOf(parts), invoice);
  return onceCallsAreOver(view, { askedAt, callsOverAt: callsOverAt(invoice) });
}

/** Records a payment that a check has found, if the invoice is still as it was. @throws {NoClearAnswer} */
export async function recordPayment(
  parts: CorrectionParts,
  invoice: Invoice,
  payment: Extract<ProviderView, { kind: 'found' | 'processing' }>,
): Promise<Extract<NotCorrected, { kind: 'recorded' }> | 'again'> {
  const recorded = await ifStillSo(parts, invoice, (now) => {
    const { entry, ...change } = changeByPayment(invoice, payment, now);
    return { ...change, entry: { ...entry, found: 'by the check before a correction' } };
  });
  if (recorded === 'again') return recorded;
  const status = payment.kind === 'found' ? 'paid' : 'processing';
  return { kind: 'recorded', from: recorded.from, status, paymentId: payment.paymentId };
}
