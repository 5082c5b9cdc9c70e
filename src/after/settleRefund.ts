import { withReversals } from '../invoice/checkSchedule.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { type Reversals, reversalsOf } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import { orderOfRefunds } from './refundOrders.ts';

/** A person's word on a refund of ours and one that was made at the provider without our id. */
export interface RefundWord {
  refundId: string;
  /** The provider's refund. */
  providerId: string;
  /** True: they are one. False: ours is still to be made. */
  isSame: boolean;
  reason: string;
  by: string;
}

export type SettledRefund =
  | { kind: 'settled'; invoice: Invoice }
  | { kind: 'notFound' }
  /** No refund of this id waits for a word on that one of the provider. */
  | { kind: 'notAsked' }
  /** Ours is more than is left. */
  | { kind: 'tooMuch'; leftMinor: number };

/**
 * Records a person's word on a refund that may have been made by hand: it is that one, or it is ordered as well.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function settleRefund(
  {
    invoices,
    instance: { clock },
  }: { invoices: Pick<InvoiceStore, 'update'>; instance: Pick<Instance, 'clock'> },
  id: string,
  { by, reason, ...word }: RefundWord,
): Promise<SettledRefund> {
  const updated = await invoices.update<Exclude<ReturnType<typeof withWord>, Reversals>>(id, {
    decide(invoice, write) {
      const now = clock.now();
      const at = new Date(now).toISOString();
      const after = withWord(invoice, word, at);
      if ('kind' in after) return { kind: 'refuse', why: after };
      const what = word.isSame ? 'refund found' : 'refund ordered again';
      return {
        kind: 'change',
        change: { ...withReversals(after, now), entry: { at, what, by, reason, ...word } },
        messages: word.isSame ? [] : [orderOfRefunds(invoice, [word.refundId], { write, now })],
      };
    },
  });
  if (updated.kind === 'refused') return updated.why;
  return updated.kind === 'notFound' ? updated : { kind: 'settled', invoice: updated.invoice };
}

/** The reversals after a person's word at `at` (ISO 8601). Pure. */
function withWord(
  { reversals, amountMinor: paidMinor }: Pick<Invoice, 'reversals' | 'amountMinor'>,
  { refundId, providerId, isSame }: Pick<RefundWord, 'refundId' | 'providerId' | 'isSame'>,
  at: string,
): Reversals | Extract<SettledRefund, { kind: 'notAsked' | 'tooMuch' }> {
  const asked = reversals?.refunds.find(({ id, mayBe }) => id === refundId && mayBe === providerId);
  const made = reversals?.refunds.find((one) => one.id === providerId);
  if (reversals === undefined || asked === undefined || made === undefined) return { kind: 'notAsked' };
  const { mayBe: _, ...ours } = asked;
  const leftMinor = Math.max(0, paidMinor - reversals.refundedMinor);
  if (!isSame && ours.amountMinor > leftMinor) return { kind: 'tooMuch', leftMinor };
  const { status, failure } = made;
  const settled = isSame
    ? { ...ours, providerId, status, ...(failure === undefined ? {} : { failure }) }
    : { ...ours, others: [...(ours.others ?? []), providerId], orderedAgainAt: at };
  const refunds = reversals.refunds
    .filter((one) => !isSame || one !== made)
    .map((one) => (one === asked ? settled : one));
  return reversalsOf(refunds, reversals.disputes, reversals);
}
