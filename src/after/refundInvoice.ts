import { withReversals } from '../invoice/checkSchedule.ts';
import type { Refund } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { mayBeLost } from '../paying/mergeReversals.ts';
import type { Instance } from '../platform/instance.ts';
import { decideRefund, type RefundDecision, type RefundWish } from './decideRefund.ts';
import { refundIdOf } from './refundKeys.ts';
import { orderOfRefunds } from './refundOrders.ts';

export type RequestedRefund =
  /** `created`: this call did; otherwise an earlier one with the same key had. */
  | { kind: 'requested'; refund: Refund; created: boolean }
  | { kind: 'notFound' }
  | Exclude<RefundDecision, { kind: 'request' | 'repeated' }>;

/**
 * Requests a refund of a paid invoice. The request and the order to carry it out are one transaction; the refund itself is
 * the stage's work (refundStage.ts). The same idempotency key stands for the same refund, however often it is sent.
 *
 * @throws {NoClearAnswer} it may have been requested: send it again under the same key
 * @throws {NewerVersion}
 */
export async function refundInvoice(
  {
    invoices,
    instance: { clock },
  }: { invoices: Pick<InvoiceStore, 'update'>; instance: Pick<Instance, 'clock'> },
  id: string,
  { idempotencyKey, ...asked }: Omit<RefundWish, 'refundId' | 'requestKey'> & { idempotencyKey: string },
): Promise<RequestedRefund> {
  const refundId = refundIdOf(id, idempotencyKey);
  const updated = await invoices.update<Exclude<RefundDecision, { kind: 'request' }>>(id, {
    decide(invoice, write) {
      const now = clock.now();
      const at = new Date(now).toISOString();
      const decision = decideRefund(invoice, { ...asked, refundId, requestKey: idempotencyKey }, at);
      const isAgain =
        decision.kind === 'repeated' &&
        decision.refund.mayBe === undefined &&
        mayBeLost(decision.refund, now);
      if (decision.kind !== 'request' && !isAgain) return { kind: 'refuse', why: decision };
      const { amountMinor } = decision.refund;
      const { by, reason } = asked;
      const what = isAgain ? 'refund ordered again' : 'refund requested';
      const entry = { at, what, by, refundId, amountMinor, reason };
      return {
        kind: 'change',
        change:
          decision.kind === 'request' ? { ...withReversals(decision.reversals, now), entry } : { entry },
        messages: [orderOfRefunds(invoice, [refundId], { write, now })],
      };
    },
  });
  switch (updated.kind) {
    case 'notFound':
      return updated;
    case 'refused':
      return updated.why.kind === 'repeated'
        ? { kind: 'requested', refund: updated.why.refund, created: false }
        : updated.why;
    case 'updated': {
      const isOurs = ({ id: one }: Refund) => one === refundId;
      const refund = updated.invoice.reversals?.refunds.find(isOurs);
      if (refund === undefined) throw new Error(`refund ${refundId} of invoice ${id} is gone`);
      const created = updated.before.reversals?.refunds.some(isOurs) !== true;
      return { kind: 'requested', refund, created };
    }
  }
}
