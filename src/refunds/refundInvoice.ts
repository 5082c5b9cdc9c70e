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
      if (decision.kind !== 'request') return { kind: 'refuse', why: decision };
      const { amountMinor } = decision.refund;
      const { by, reason } = asked;
      const body = [refundWorkItem(id, refundId)];
      return {
        kind: 'change',
        change: {
          set: { reversals: decision.reversals },
          entry: { at, what: 'refund requested', by, refundId, amountMinor, reason },
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
      const refund = updated.invoice.reversals?.refunds.find((one) => one.id === refundId);
      if (refund === undefined) throw new Error(`refund ${refundId} of invoice ${id} is gone`);
      return { kind: 'requested', refund, created: true };
    }
  }
}
