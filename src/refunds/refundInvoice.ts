import type { Refund } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { newOutboxMessage } from '../outbox/outboxMessage.ts';
import { queues } from '../platform/azureNames.ts';
import type { Instance } from '../platform/instance.ts';
import { decideRefund, type RefundDecision, type RefundWish } from './decideRefund.ts';
import { refundIdOf } from './refundKeys.ts';
import { refundWorkItem } from './refundStage.ts';

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
  { idempotencyKey, ...asked }: Omit<RefundWish, 'refundId'> & { idempotencyKey: string },
): Promise<RequestedRefund> {
  const refundId = refundIdOf(id, idempotencyKey);
  const updated = await invoices.update<Exclude<RefundDecision, { kind: 'request' }>>(id, {
    decide(invoice, write) {
      const now = clock.now();
      const at = new Date(now).toISOString();
      const decision = decideRefund(invoice, { refundId, ...asked }, at);
      const isAgain = decision.kind === 'repeated' && isOverdue(decision.refund, now);
      if (decision.kind !== 'request' && !isAgain) return { kind: 'refuse', why: decision };
      const { amountMinor } = decision.refund;
      const { by, reason } = asked;
      const body = [refundWorkItem(id, refundId)];
      const what = isAgain ? 'refund ordered again' : 'refund requested';
      return {
        kind: 'change',
        change: {
          ...(decision.kind === 'request' && { set: { reversals: decision.reversals } }),
          entry: { at, what, by, refundId, amountMinor, reason },
        },
        messages: [
          newOutboxMessage({ id: write, shard: invoice.shard, destination: queues.workItems, body }, now),
        ],
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

/** By then the order of a refund has been carried out, or tried (ms). */
const orderedAgainAfterMs = 60_000;

/** True if the order may be lost: it is a message, and a queue can lose what it has acknowledged. It is made once all the same. */
function isOverdue({ status, at }: Refund, now: number): boolean {
  return status === 'requested' && now - Date.parse(at) >= orderedAgainAfterMs;
}
