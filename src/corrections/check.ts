import type { Invoice } from '../invoice/invoice.ts';
import { recordFoundPayment } from '../paying/foundPayment.ts';
import { callsOverAt } from '../paying/payingPolicy.ts';
import { checkProvider, type ProviderView } from './checkProvider.ts';
import type { CorrectionParts, NotCorrected } from './corrections.ts';
import { type AfterCheck, decideAfterCheck } from './decideAfterCheck.ts';

/** How long a call waits for its turn, in milliseconds: somebody waits for the answer. */
const turnWithinMs = 20_000;

/** The provider's calls for one correction. */
export function callsOf({ provider, instance: { clock } }: Pick<CorrectionParts, 'provider' | 'instance'>) {
  return provider.within({ before: clock.monotonic() + turnWithinMs });
}

/** Asks the provider about an invoice, and says what that means. */
export async function checked(parts: CorrectionParts, invoice: Invoice): Promise<AfterCheck> {
  const askedAt = parts.instance.clock.now();
  const view = await checkProvider(callsOf(parts), invoice);
  return decideAfterCheck(view, { askedAt, callsOverAt: callsOverAt(invoice) });
}

/**
 * Records a payment that a check has found, if the invoice is still as it was: it is paid, or processing, as if its
 * settlement had said so.
 *
 * @throws {NoClearAnswer}
 */
export async function recordPayment(
  { invoices, followUps, instance: { clock, name: by } }: CorrectionParts,
  { id, _etag, status: from }: Invoice,
  payment: Extract<ProviderView, { kind: 'found' | 'processing' }>,
): Promise<Extract<NotCorrected, { kind: 'recorded' }> | 'again'> {
  const now = clock.now();
  const { paymentId } = payment;
  const found = payment.kind === 'found' ? { ...payment, paidAt: new Date(now).toISOString() } : payment;
  const recorded = await recordFoundPayment(invoices, id, found, {
    now,
    by,
    found: 'by the check before a correction',
    occasion: `corrected-${paymentId}`,
    followUps,
    mayRecord: (stored) => stored._etag === _etag,
  });
  if (recorded.kind !== 'updated') return 'again';
  return { kind: 'recorded', from, status: payment.kind === 'found' ? 'paid' : 'processing', paymentId };
}
