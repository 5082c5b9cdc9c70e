import { z } from 'zod';
import type { Invoice } from '../invoice/invoice.ts';
import { type Refund, reversalsOf } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { ownershipOf } from '../paying/foundPayment.ts';
import { withLookAlikes, withProviderReversals } from '../paying/mergeReversals.ts';
import { noTurn, type PacedProvider, turnWithinMs } from '../paying/pacedProvider.ts';
import type { RefundOutcome, RetrievedPayment } from '../paying/paymentProvider.ts';
import { isHeld } from '../paying/reconciliation.ts';
import { refundStageName } from '../tracking/refundOrders.ts';
import { recordProgress, type TrackingParts } from '../tracking/trackPayment.ts';
import { NotNow, NotYet } from '../workItems/notNow.ts';
import { defineStage, type Effect, type Stage } from '../workItems/workItem.ts';
import { recordRefusal } from './recordRefusal.ts';
import { decideKey, providerKey } from './refundKeys.ts';

/** It is not known yet what became of the refund, or it cannot be made now: the work item is tried again later. */
export class NotRefunded extends NotNow {
  override readonly name = 'NotRefunded';
}

export interface RefundingParts extends Pick<TrackingParts, 'followUps' | 'settlement' | 'instance'> {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  provider: Pick<PacedProvider, 'within'>;
}

/**
 * The stage that carries out a refund, once. Each try looks first whether the provider has it already: its lists do not
 * lag, and each refund of ours carries its id. Only one that it does not have is sent, under a key that was stored before.
 * So a try that died anywhere is followed by one that finds what it did, or sends the same key again. One that somebody may have
 * made by hand meanwhile waits for a person (settleRefund.ts).
 */
export function refundStage(parts: RefundingParts): Stage {
  const { invoices, provider, instance } = parts;
  const { clock } = instance;
  return defineStage({
    name: refundStageName,
    input: z.object({ refundId: z.string() }),
    async handle({ refundId }, { resourceId: id, assertHeld }) {
      const invoice = await invoices.find(id);
      const refund = refundOf(invoice, refundId);
      // This read may be older than the request. If nobody asks for it any more, as after a restore, a person is told in a day.
      if (invoice === undefined || refund === undefined) throw new NotYet('the refund is not requested here');
      if (refund.status !== 'requested') return { result: refund.status };
      const { id: paymentId } = invoice.payment;
      if (paymentId === undefined) throw new Error(`invoice ${id} is to be refunded and names no payment`);
      const calls = provider.within({
        before: clock.monotonic() + turnWithinMs,
        mayCall: isHeld(assertHeld),
      });
      const payment = paymentOf(await calls.retrieve(paymentId));
      assertHeld();
      if (ownershipOf(payment, invoice) === 'foreign') {
        const failure = `payment ${paymentId} is of another customer or deployment`;
        await recordRefusal(parts, id, { refundId, paymentId, failure }, assertHeld);
        return { result: 'refused', failure };
      }
      const shown = payment.reversals.refunds.find((one) => one.refundId === refundId);
      if (shown !== undefined) {
        await recordProgress(parts, id, payment, assertHeld);
        return { result: shown.status, providerId: shown.providerId, found: true };
      }
      const seen = withProviderReversals(invoice.reversals, payment.reversals);
      const lookAlike =
        seen && withLookAlikes(seen, clock.now()).refunds.find(({ id: one }) => one === refundId);
      if (lookAlike?.mayBe !== undefined) {
        await recordProgress(parts, id, payment, assertHeld);
        return { result: 'waits for a person', mayBe: lookAlike.mayBe };
      }
      const key = await storedKey(invoice, refund, assertHeld);
      if (key === undefined) return { result: 'decided meanwhile' };
      const { amountMinor } = refund;
      const { currency } = invoice;
      const idempotencyKey = providerKey(refundId, key);
      const request = { paymentId, invoiceId: id, refundId, amountMinor, currency, idempotencyKey };
      const outcome = refundedOrRefused(await calls.refund(request));
      assertHeld();
      if (outcome.kind === 'refused') {
        const failure = `${outcome.code}: ${outcome.message}`;
        await recordRefusal(parts, id, { refundId, paymentId, failure }, assertHeld);
        return { result: 'refused', failure };
      }
      const { providerId, status } = outcome;
      const at = new Date(clock.now()).toISOString();
      const refunds = [{ providerId, refundId, amountMinor, status, at }];
      const made = { ...payment, reversals: { refunds, disputes: [] } };
      await recordProgress(parts, id, made, assertHeld);
      return { result: status, providerId } satisfies Effect;
    },
  });

  /** The number of the key to send now, once it is stored; undefined if the refund is no longer to be made. */
  async function storedKey(
    { id }: Invoice,
    { id: refundId }: Refund,
    assertHeld: () => void,
  ): Promise<number | undefined> {
    let number: number | undefined;
    const updated = await invoices.update<'send' | 'wait' | 'ended'>(id, {
      decide(stored) {
        const { reversals } = stored;
        const refund = refundOf(stored, refundId);
        if (reversals === undefined || refund?.status !== 'requested')
          return { kind: 'refuse', why: 'ended' };
        const now = clock.now();
        const decision = decideKey(refund, now);
        if (decision.kind === 'wait') return { kind: 'refuse', why: 'wait' };
        ({ number } = decision);
        if (decision.kind === 'send') return { kind: 'refuse', why: 'send' };
        const at = new Date(now).toISOString();
        const keyed = { ...refund, key: { number, createdAt: at } };
        const refunds = reversals.refunds.map((one) => (one.id === refundId ? keyed : one));
        return {
          kind: 'change',
          change: {
            set: { reversals: reversalsOf(refunds, reversals.disputes, reversals) },
            entry: { at, what: 'refund begins', by: instance.name, refundId, keyNumber: number },
          },
        };
      },
      beforeTry: assertHeld,
    });
    if (updated.kind === 'updated') return number;
    if (updated.kind === 'notFound' || updated.why === 'ended') return undefined;
    if (updated.why === 'send') return number;
    throw new NotRefunded('the key is too old to be sent again, and too young to be replaced');
  }
}

function refundOf(invoice: Invoice | undefined, refundId: string): Refund | undefined {
  return invoice?.reversals?.refunds.find(({ id }) => id === refundId);
}

/** @throws {NotRefunded} {NotYet} */
function paymentOf(retrieved: RetrievedPayment | { kind: 'notCalled' }) {
  switch (retrieved.kind) {
    case 'payment':
      return retrieved;
    case 'notCalled':
      throw new NotRefunded(noTurn);
    case 'notFound':
      throw new NotYet('the provider does not know the payment of the refund');
    case 'heldBack':
    case 'unknown':
      throw new NotRefunded(`the provider cannot say what it has refunded: ${retrieved.message}`);
  }
}

/** @throws {NotRefunded} */
function refundedOrRefused(outcome: RefundOutcome | { kind: 'notCalled' }) {
  switch (outcome.kind) {
    case 'refunded':
      return outcome;
    case 'refused':
      // The key stands for another request: a bug of ours, and no answer about this refund.
      if (outcome.code === 'key_reused') throw new NotRefunded(`key_reused: ${outcome.message}`);
      return outcome;
    case 'notCalled':
      throw new NotRefunded(noTurn);
    case 'transient':
    case 'heldBack':
    case 'unknown':
      throw new NotRefunded(outcome.message);
  }
}
