import pLimit from 'p-limit';
import type Stripe from 'stripe';
import { StoreAway } from '../src/documents/storeAway.ts';
import { followUpsOf } from '../src/followUps/followUps.ts';
import { receiptFollowUp } from '../src/followUps/receipts.ts';
import type { Invoice } from '../src/invoice/invoice.ts';
import type { InvoiceStore } from '../src/invoice/store/invoiceStore.ts';
import { ownershipOf, viewOf } from '../src/paying/foundPayment.ts';
import { noReversals } from '../src/paying/mergeReversals.ts';
import { type PaymentFound, recordFoundPayment } from '../src/paying/recordFoundPayment.ts';
import { paymentFrom, progressOf } from '../src/paying/stripe/stripeIntent.ts';
import { readReversed } from '../src/paying/stripe/stripeLookups.ts';

/** The actor in an invoice's timeline. */
const by = 'after-restore';
/** A receipt only: the webhook would announce payments of long ago. */
const followUps = followUpsOf([receiptFollowUp]);
/** Invoices checked concurrently. */
const atOnce = 16;

/** The result for one Stripe payment. */
export type Finding =
  /** The invoice already has this payment. */
  | 'known'
  /** The invoice was unpaid and is now marked as paid; without `apply` it only would be. */
  | 'marked'
  /** The payment is in progress and is now followed; without `apply` it only would be. */
  | 'following'
  /** All of its money has gone back: a person decides what becomes of the invoice. */
  | 'reversed'
  /** The database has no such invoice: it arrived after the backup time, or SHARDS is wrong. */
  | 'missing'
  /** The payment has a different amount or currency than the invoice. */
  | 'differs'
  /** The payment is of another customer or deployment: it does not count. */
  | 'foreign'
  /** The invoice has another payment: it was charged twice. */
  | 'twice'
  /** The invoice changed concurrently, or the store's answer was unclear: run again. */
  | 'again';

export interface Found {
  finding: Finding;
  invoiceId: string;
  paymentId: string;
}

/**
 * Checks every Stripe payment since `since` that succeeded or is in progress against a database restored from a backup. It
 * marks as paid the invoices that were charged after the backup time, and as processing those whose payment is alive. The database does not know their keys: once
 * Stripe has forgotten them too (after 24 h), the app would charge again.
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
}: {
  stripe: Stripe;
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  /** Milliseconds since the epoch, like `now`. */
  since: number;
  now: number;
  /** False: dry run. */
  apply: boolean;
  /** The name that this deployment gives its payments. */
  deployment?: string;
}): AsyncGenerator<Found> {
  const limit = pLimit(atOnce);
  const settled = new Map<string, string>();
  let page: Promise<Found>[] = [];
  for await (const payment of stripe.paymentIntents.list({
    created: { gte: Math.floor(since / 1000) },
    limit: 100,
    expand: ['data.latest_charge'],
  })) {
    const { invoiceId } = payment.metadata;
    const progress = progressOf(payment);
    if (progress.kind === 'failed' || progress.kind === 'canceled' || invoiceId === undefined) continue;
    page.push(
      limit(async () => ({ finding: await settle(payment, invoiceId), invoiceId, paymentId: payment.id })),
    );
    if (page.length === 100) {
      yield* await Promise.all(page);
      page = [];
    }
  }
  yield* await Promise.all(page);

  async function settle(payment: Stripe.PaymentIntent, invoiceId: string): Promise<Finding> {
    const invoice = await invoices.find(invoiceId);
    if (invoice === undefined) return 'missing';
    const gone = payment.status === 'succeeded' ? await readReversed(stripe, payment) : undefined;
    const reversals = gone?.reversals ?? noReversals;
    const seen = paymentFrom(payment, reversals, deployment);
    const ownership = ownershipOf(seen, invoice);
    if (ownership === 'foreign') return 'foreign';
    const before = settled.get(invoiceId);
    settled.set(invoiceId, payment.id);
    if (before !== undefined) return 'twice';
    if (invoice.status === 'paid') return invoice.payment.id === payment.id ? 'known' : 'twice';
    if (invoice.status === 'processing' && invoice.payment.inProgress?.id === payment.id) return 'known';
    if (ownership === 'unclear') return 'differs';
    const view = viewOf(seen, invoice.amountMinor);
    if (view.kind === 'reversed') return 'reversed';
    const finding = view.kind === 'processing' ? 'following' : 'marked';
    if (!apply) return finding;
    const paidAt = new Date(payment.created * 1000).toISOString();
    const found: PaymentFound = view.kind === 'processing' ? view : { ...view, paidAt };
    const mayRecord = ({ status }: Invoice) => status !== 'paid' && status !== 'processing';
    try {
      const occasion = `restored-${payment.id}`;
      const options = { now, by, found: 'after a restore', occasion, followUps, mayRecord };
      const recorded = await recordFoundPayment(invoices, invoiceId, found, options);
      return recorded.kind === 'updated' ? finding : 'again';
    } catch (error) {
      if (error instanceof StoreAway && error.reason === 'noAnswer') return 'again';
      throw error;
    }
  }
}
