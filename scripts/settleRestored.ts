import pLimit from 'p-limit';
import type Stripe from 'stripe';
import { StoreAway } from '../packages/jobs/src/documents/documentStore.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { noTelemetry } from '../packages/leases/src/telemetry.ts';
import { decideProgress, secondPayment } from '../src/after/decideProgress.ts';
import { receiptFollowUp } from '../src/after/receipts.ts';
import { record } from '../src/after/record.ts';
import { recordProgress } from '../src/after/trackPayment.ts';
import { followUpsOf } from '../src/invoice/followUps.ts';
import type { Invoice } from '../src/invoice/invoice.ts';
import { wasVoided } from '../src/invoice/namedPayments.ts';
import type { InvoiceStore } from '../src/invoice/store/invoiceStore.ts';
import { changeByPayment, movesMoney, ownershipOf, type PaymentFound } from '../src/paying/foundPayment.ts';
import { noReversals } from '../src/paying/mergeReversals.ts';
import { defaultSettlementPolicy as settlement } from '../src/paying/payingPolicy.ts';
import type { ProviderPayment } from '../src/paying/paymentProvider.ts';
import { stripeLookups } from '../src/stripe/stripeLookups.ts';
import { paymentFrom } from '../src/stripe/stripePayment.ts';

/** The actor in an invoice's timeline. */
const by = 'after-restore';
/** A receipt only: the webhook would announce payments of long ago. */
const followUps = followUpsOf([receiptFollowUp]);
/** Invoices checked concurrently. */
const atOnce = 16;
const timeoutMs = 30_000;

/** The result for one Stripe payment. Without `apply` it only would be so. */
export type Finding =
  /** The invoice already has this payment, and what has become of it; or a person has been told. */
  | 'known'
  /** The invoice was unpaid and is now marked as paid, with what has gone back since. */
  | 'marked'
  /** The payment is in progress and is now followed. */
  | 'following'
  /** Refunds or disputes of a known payment were not known, and are now. */
  | 'merged'
  /** Neither the database nor the archive has such an invoice: it arrived after the backup time, or SHARDS is wrong. */
  | 'missing'
  /** The payment has another amount or currency than the invoice, or a person had voided that: it is parked now. */
  | 'parked'
  /** The payment is of another customer or deployment: it does not count. */
  | 'foreign'
  /** The invoice has another payment, and is now known to have two. */
  | 'twice'
  /** The invoice changed concurrently, or an answer was unclear: run again. */
  | 'again';

export interface Found {
  finding: Finding;
  invoiceId: string;
  paymentId: string;
}

interface Parts {
  stripe: Stripe;
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  /** Milliseconds since the epoch, like `now`. */
  since: number;
  now: number;
  /** False: dry run. */
  apply: boolean;
  /** The name that this deployment gives its payments. */
  deployment?: string;
}

/**
 * Checks every Stripe payment since `since` that succeeded or is in progress, and every one that was refunded or disputed since
 * then, against a database restored from a backup. It marks as paid the invoices that were charged after the backup time, and as
 * processing those whose payment is alive. The database does not know their keys: once Stripe has forgotten them too (after 24 h),
 * the app would charge again. A second run finds all that known, except for what only people can mend.
 *
 * Uses Stripe's list, not its search: the search lags (https://docs.stripe.com/search#data-freshness), and
 * the latest minutes are exactly the payments that matter here. The app must not pay meanwhile.
 */
export async function* settleRestored({
  stripe,
  invoices,
  since,
  apply,
  now,
  deployment,
}: Parts): AsyncGenerator<Found> {
  const limit = pLimit(atOnce);
  const lookups = stripeLookups(stripe, { timeoutMs });
  const instance = { name: by, telemetry: noTelemetry, clock: { ...systemClock, now: () => now } };
  const created = { gte: Math.floor(since / 1000) };
  const running = new Map<string, Promise<Finding>>();
  const settled = new Map<string, string>();
  const seen = new Set<string>();
  yield* inPages(
    stripe.paymentIntents.list({ created, limit: 100, expand: ['data.latest_charge'] }),
    ofIntent,
  );
  yield* inPages(stripe.refunds.list({ created, limit: 100 }), ofReversal);
  yield* inPages(stripe.disputes.list({ created, limit: 100 }), ofReversal);

  async function* inPages<One>(
    all: AsyncIterable<One>,
    settle: (one: One) => Promise<Found | undefined>,
  ): AsyncGenerator<Found> {
    let page: Promise<Found | undefined>[] = [];
    for await (const one of all) {
      page.push(limit(() => settle(one)));
      if (page.length < 100) continue;
      yield* (await Promise.all(page)).filter((found) => found !== undefined);
      page = [];
    }
    yield* (await Promise.all(page)).filter((found) => found !== undefined);
  }

  async function ofIntent(intent: Stripe.PaymentIntent): Promise<Found | undefined> {
    const payment = paymentFrom(intent, noReversals, deployment);
    const { invoiceId, paymentId } = payment;
    if (invoiceId === undefined || !movesMoney(payment)) return undefined;
    seen.add(paymentId);
    const before = await invoices.find(invoiceId);
    const charge = typeof intent.latest_charge === 'string' ? null : intent.latest_charge;
    const untouched = charge === null || (charge.amount_refunded === 0 && !charge.disputed);
    const isWhole = untouched && before?.reversals === undefined;
    const whole = isWhole ? payment : await lookups.retrieve(paymentId, deployment);
    if (whole.kind !== 'payment') return { finding: 'again', invoiceId, paymentId };
    return { finding: await inOrder(invoiceId, whole, intent.created), invoiceId, paymentId };
  }

  async function ofReversal({
    payment_intent: of,
  }: Pick<Stripe.Refund | Stripe.Dispute, 'payment_intent'>): Promise<Found | undefined> {
    const paymentId = typeof of === 'string' ? of : of?.id;
    if (paymentId === undefined || seen.has(paymentId)) return undefined;
    seen.add(paymentId);
    const payment = await lookups.retrieve(paymentId, deployment);
    if (payment.kind !== 'payment') return { finding: 'again', invoiceId: '', paymentId };
    const { invoiceId } = payment;
    if (invoiceId === undefined) return undefined;
    return { finding: await inOrder(invoiceId, payment, now / 1000), invoiceId, paymentId };
  }

  /** Payments of one invoice are settled one after the other: of two, the second one meets what was written for the first. */
  function inOrder(id: string, payment: ProviderPayment, createdSeconds: number): Promise<Finding> {
    const before = running.get(id) ?? Promise.resolve();
    const mine = before.then(() => findingOf(id, payment, createdSeconds));
    running.set(id, mine);
    return mine;
  }

  async function findingOf(id: string, payment: ProviderPayment, createdSeconds: number): Promise<Finding> {
    const invoice = await invoices.find(id);
    if (payment.madeBy === 'others') return 'foreign';
    if (invoice === undefined) return 'missing';
    if (ownershipOf(payment, invoice) === 'foreign') return 'foreign';
    const { status } = invoice;
    const before = settled.get(id);
    settled.set(id, payment.paymentId);
    // In a dry run nothing is written, so the first payment of two is not on record.
    if (before !== undefined && before !== payment.paymentId && !apply) return 'twice';
    try {
      const isUnpaid = status !== 'paid' && status !== 'processing' && !wasVoided(invoice);
      if (isUnpaid && ownershipOf(payment, invoice) === 'ours')
        return await mark(id, payment, createdSeconds);
      if (status === 'processing') await endOther(invoice, payment);
      return await progress(id, payment);
    } catch (error) {
      if (error instanceof StoreAway && error.reason === 'noAnswer') return 'again';
      throw error;
    }
  }

  /** An unpaid invoice that was charged is paid, even if all of it has gone back: that was known once. */
  async function mark(id: string, payment: ProviderPayment, createdSeconds: number): Promise<Finding> {
    const { paymentId, reversals, progress: state } = payment;
    const finding = state.kind === 'alive' ? 'following' : 'marked';
    if (!apply) return finding;
    const paidAt = new Date(createdSeconds * 1000).toISOString();
    const found: PaymentFound =
      state.kind === 'alive'
        ? { kind: 'processing', paymentId, state: state.state }
        : { kind: 'found', paymentId, paidAt, reversals };
    const recorded = await record<{ kind: 'settled' }>({ invoices, followUps, instance }, id, (stored) => {
      if (stored.status === 'paid' || stored.status === 'processing') return { kind: 'settled' };
      const { entry, ...change } = changeByPayment(stored, found, now);
      return { kind: 'change', ...change, entry: { ...entry, found: 'after a restore' } };
    });
    return recorded.kind === 'updated' ? finding : 'again';
  }

  /** The payment that the copy waits for may have ended since, and made way for this one. */
  async function endOther({ id, payment: { inProgress } }: Invoice, payment: ProviderPayment): Promise<void> {
    if (!apply || inProgress === undefined || inProgress.id === payment.paymentId) return;
    const other = await lookups.retrieve(inProgress.id, deployment);
    if (other.kind !== 'payment' || movesMoney(other)) return;
    await recordProgress({ invoices, followUps, settlement, instance }, id, other, () => {});
  }

  async function progress(id: string, payment: ProviderPayment): Promise<Finding> {
    let finding: Finding = 'known';
    const watched = {
      update: (...[of, request]: Parameters<typeof invoices.update>) =>
        invoices.update(of, {
          ...request,
          decide(invoice, write) {
            finding = findingIn(invoice, payment);
            return apply ? request.decide(invoice, write) : { kind: 'refuse', why: 'nothing' };
          },
        }),
    } as Pick<InvoiceStore, 'update'>;
    const parts = { invoices: watched, followUps, settlement, instance };
    const { kind } = await recordProgress(parts, id, payment, () => {});
    return kind === 'unsettled' ? 'again' : finding;
  }

  function findingIn(invoice: Invoice, payment: ProviderPayment): Finding {
    const decision = decideProgress(invoice, payment, settlement, now);
    if (decision.kind !== 'change') return 'known';
    switch (decision.entry.what) {
      case 'paid':
        return 'marked';
      case 'processing':
        return 'following';
      case 'parked':
        return 'parked';
      case secondPayment:
        return 'twice';
      case 'reversed':
        return 'merged';
      default:
        return 'known';
    }
  }
}

/**
 * Ends the claim that the copy has of an invoice, which nothing works on any more: a person has to correct it before the app pays,
 * and no correction is made to one that is claimed. It may have been called under its key, which stays.
 */
export async function endClaim(invoices: Pick<InvoiceStore, 'update'>, id: string): Promise<void> {
  const now = Date.now();
  const at = new Date(now).toISOString();
  // Later than now, so that it can be retried with another payment method.
  const actionableAt = new Date(now + 3_600_000).toISOString();
  await invoices.update<{ kind: 'free' }>(id, {
    decide: (invoice) =>
      invoice.status === 'claimed'
        ? {
            kind: 'change',
            change: {
              set: { status: 'pending', actionableAt },
              clear: ['claim'],
              entry: { at, by, what: 'claim ended' },
            },
            messages: [],
          }
        : { kind: 'refuse', why: { kind: 'free' } },
  });
}
