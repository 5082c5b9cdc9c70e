import { defineStage, type Effect, RetryLater, RetryForADay, type Stage } from '@payonce/jobs/work-items';
import { z } from 'zod';
import type { Invoice } from '../invoice/invoice.ts';
import { type Refund, type Reversals, reversalsOf, withReversals } from '../invoice/reversals.ts';
import { ownershipOf } from '../paying/foundPayment.ts';
import { newReversals, withLookAlikes, withProviderReversals } from '../paying/mergeReversals.ts';
import {
  turnWithinMs,
  type NotCalled,
  type ProviderReversals,
  type RefundOutcome,
  type RetrievedPayment,
} from '../paying/paymentProvider.ts';
import { type AfterParts, isHeld, type Recorded, record, refundStageName, whySilent } from './record.ts';
import { recordProgress } from './trackPayment.ts';

/**
 * The stage that carries out a refund, once. Each try looks for it at the provider first, whose lists do not lag and have our id of
 * each refund. Only one that is not there is sent, under a key that was stored before: a try that died anywhere is followed by one
 * that finds what it did, or sends the same key again. One that somebody may have made by hand waits for a person (`settleRefund`).
 */
export function refundStage(parts: AfterParts): Stage {
  const { clock } = parts.instance;
  return defineStage({
    name: refundStageName,
    input: z.object({ refundId: z.string() }),
    async handle({ refundId }, { resourceId: id, assertHeld }): Promise<Effect> {
      const invoice = await parts.invoices.find(id);
      const refund = refundOf(invoice, refundId);
      // This read may be older than the request. If nobody asks for it any more, as after a restore, a person is told in a day.
      if (invoice === undefined || refund === undefined)
        throw new RetryForADay('the refund is not requested here');
      if (refund.status !== 'requested') return { result: refund.status };
      const { id: paymentId } = invoice.payment;
      if (paymentId === undefined) throw new Error(`invoice ${id} is to be refunded and names no payment`);
      const calls = parts.provider.within({
        before: clock.monotonic() + turnWithinMs,
        mayCall: isHeld(assertHeld),
      });
      const payment = paymentOf(await calls.retrieve(paymentId));
      assertHeld();
      if (ownershipOf(payment, invoice) === 'foreign')
        return refused(`payment ${paymentId} is of another customer or deployment`);
      const shown = payment.reversals.refunds.find((one) => one.refundId === refundId);
      if (shown !== undefined) {
        await recordProgress(parts, id, payment, assertHeld);
        return { result: shown.status, providerId: shown.providerId, found: true };
      }
      const key = await storedKey(payment.reversals);
      if (key.kind === 'ended') return { result: 'decided meanwhile' };
      if (key.kind === 'mayBe') {
        await recordProgress(parts, id, payment, assertHeld);
        return { result: 'waits for a person', mayBe: key.mayBe };
      }
      const { amountMinor } = refund;
      const { currency } = invoice;
      const idempotencyKey = providerKey(refundId, key.number);
      const request = { paymentId, invoiceId: id, refundId, amountMinor, currency, idempotencyKey };
      const outcome = refundedOrRefused(await calls.refund(request));
      assertHeld();
      if (outcome.kind === 'refused') return refused(`${outcome.code}: ${outcome.message}`);
      const { providerId, status } = outcome;
      const at = new Date(clock.now()).toISOString();
      const refunds = [{ providerId, refundId, amountMinor, status, at }];
      await recordProgress(parts, id, { ...payment, reversals: { refunds, disputes: [] } }, assertHeld);
      return { result: status, providerId };

      /** The idempotency key to send now, once it is stored. `ended`: the refund is no longer to be made. */
      async function storedKey(seen: ProviderReversals): Promise<StoredKey> {
        const decide = (stored: Invoice, now: number) => decideStoredKey(stored, { refundId, seen }, now);
        const updated = await record(parts, id, decide, assertHeld);
        if (updated.kind === 'wait')
          throw new RetryLater('the key is too old to be sent again, and too young to be replaced');
        if (updated.kind === 'notFound') return { kind: 'ended' };
        if (updated.kind !== 'updated') return updated;
        const { number } = refundOf(updated.invoice, refundId)?.key ?? {};
        return number === undefined ? { kind: 'ended' } : { kind: 'send', number };
      }

      async function refused(failure: string): Promise<Effect> {
        const decide = (stored: Invoice, now: number) => refusedRefund(stored, { refundId, failure }, now);
        await record(parts, id, decide, assertHeld);
        return { result: 'refused', failure };
      }
    },
  });
}

function refundOf(invoice: Pick<Invoice, 'reversals'> | undefined, refundId: string): Refund | undefined {
  return invoice?.reversals?.refunds.find(({ id }) => id === refundId);
}

function withRefund(reversals: Reversals, refund: Refund): Reversals {
  const refunds = reversals.refunds.map((one) => (one.id === refund.id ? refund : one));
  return reversalsOf(refunds, reversals.disputes, reversals);
}

/** Decides on a refund that the provider refuses: its amount is free again, and the person who asked for it is told. Pure. */
export function refusedRefund(
  invoice: Pick<Invoice, 'reversals' | 'payment'>,
  { refundId, failure }: { refundId: string; failure: string },
  now: number,
): Recorded | { kind: 'ended' } {
  const { reversals, payment } = invoice;
  const refund = refundOf(invoice, refundId);
  if (reversals === undefined || refund?.status !== 'requested') return { kind: 'ended' };
  const after = withRefund(reversals, { ...refund, status: 'failed', failure });
  return {
    kind: 'change',
    change: withReversals(after, now),
    entry: { what: 'refund refused', refundId, reason: failure },
    ends: newReversals(reversals, after, payment.id ?? ''),
  };
}

type StoredKey =
  | Extract<KeyDecision, { kind: 'send' }>
  /** The provider's refund may be this one. */
  | { kind: 'mayBe'; mayBe: string }
  | { kind: 'ended' };

/** Decides on the key of a refund as it is stored, given those that the provider has shown. Pure. */
function decideStoredKey(
  invoice: Pick<Invoice, 'reversals'>,
  { refundId, seen }: { refundId: string; seen: ProviderReversals },
  now: number,
): Recorded | StoredKey | Extract<KeyDecision, { kind: 'wait' }> {
  const { reversals } = invoice;
  const refund = refundOf(invoice, refundId);
  if (reversals === undefined || refund?.status !== 'requested') return { kind: 'ended' };
  const all = withProviderReversals(reversals, seen) ?? reversals;
  const { mayBe } = refundOf({ reversals: withLookAlikes(all) }, refundId) ?? {};
  if (mayBe !== undefined) return { kind: 'mayBe', mayBe };
  const decision = decideKey(refund, now);
  if (decision.kind !== 'store') return decision;
  const { number } = decision;
  const keyed = { ...refund, key: { number, createdAt: new Date(now).toISOString() } };
  return {
    kind: 'change',
    change: { set: { reversals: withRefund(reversals, keyed) } },
    entry: { what: 'refund begins', refundId, keyNumber: number },
  };
}

/** @throws {RetryLater} {RetryForADay} */
function paymentOf(retrieved: RetrievedPayment | NotCalled) {
  if (retrieved.kind === 'payment') return retrieved;
  if (retrieved.kind === 'notFound')
    throw new RetryForADay('the provider does not know the payment of the refund');
  throw new RetryLater(`the provider cannot say what it has refunded: ${whySilent(retrieved)}`);
}

/** @throws {RetryLater} */
function refundedOrRefused(outcome: RefundOutcome | NotCalled) {
  // The key stands for another request: a bug of ours, and no answer about this refund.
  if (outcome.kind === 'refused' && outcome.code === 'key_reused')
    throw new RetryLater(`key_reused: ${outcome.message}`);
  if (outcome.kind === 'refunded' || outcome.kind === 'refused') return outcome;
  throw new RetryLater(whySilent(outcome));
}

/** The provider's idempotency key number `n` of a refund. */
export function providerKey(refundId: string, n: number): string {
  return `refund-${refundId}-${n}`;
}

const hour = 3_600_000;

/** Age up to which a key is sent again (ms): Stripe keeps its result for 24 h (https://docs.stripe.com/api/idempotent_requests). */
const sentWithinMs = 23 * hour;

/**
 * Age from which on a refund goes out under the next key (ms). By then no call under the old one can be in flight, even if two
 * clocks are an hour wrong, one fast and one slow.
 */
const replacedAfterMs = 25.5 * hour;

export type KeyDecision =
  | { kind: 'send'; number: number }
  | { kind: 'store'; number: number }
  /** Neither: the old key may not be sent any more, and it is too early for the next one. */
  | { kind: 'wait' };

/** The key under which a refund that the provider does not show is sent at `now` (milliseconds). Pure. */
export function decideKey({ key }: Pick<Refund, 'key'>, now: number): KeyDecision {
  if (key === undefined) return { kind: 'store', number: 1 };
  const ageMs = now - Date.parse(key.createdAt);
  if (ageMs <= sentWithinMs) return { kind: 'send', number: key.number };
  return ageMs < replacedAfterMs ? { kind: 'wait' } : { kind: 'store', number: key.number + 1 };
}
