import type { InvoiceEnd } from '../followUps/followUps.ts';
import { withReversals } from '../invoice/checkSchedule.ts';
import { reversalsOf } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { newReversals } from '../paying/mergeReversals.ts';
import { metric } from '../platform/appMetrics.ts';
import type { TrackingParts } from '../tracking/trackPayment.ts';

/**
 * Records that the provider does not make a refund: it has failed, its amount is free again, and the person who asked for
 * it is told. Nothing has gone back.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function recordRefusal(
  {
    invoices,
    followUps,
    instance: { clock, name: by, telemetry },
  }: Pick<TrackingParts, 'followUps' | 'instance'> & { invoices: Pick<InvoiceStore, 'update'> },
  id: string,
  { refundId, paymentId, failure }: { refundId: string; paymentId: string; failure: string },
  assertHeld: () => void,
): Promise<void> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  const updated = await invoices.update<'ended'>(id, {
    decide(invoice, occasion) {
      const { reversals, shard, payment } = invoice;
      const refund = reversals?.refunds.find((one) => one.id === refundId);
      if (reversals === undefined || refund?.status !== 'requested') return { kind: 'refuse', why: 'ended' };
      const failed = { ...refund, status: 'failed' as const, failure };
      const refunds = reversals.refunds.map((one) => (one === refund ? failed : one));
      const after = reversalsOf(refunds, reversals.disputes, reversals);
      const ended = { ...invoice, invoiceId: id, keyNumber: payment.keyNumber };
      const ends: InvoiceEnd[] = newReversals(reversals, after, paymentId);
      return {
        kind: 'change',
        change: {
          ...withReversals(after, now),
          entry: { at, what: 'refund refused', by, refundId, reason: failure },
        },
        messages: followUps(
          ends.map((end) => ({ invoice: ended, end })),
          { shard, occasion, now },
        ),
      };
    },
    beforeTry: assertHeld,
  });
  if (updated.kind === 'updated') telemetry.count(metric.refundFailed);
}
