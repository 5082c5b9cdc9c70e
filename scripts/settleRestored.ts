import type { Container } from '@azure/cosmos';
import pLimit from 'p-limit';
import type Stripe from 'stripe';
import { transact } from '../src/documents/transact.ts';
import { settleFound } from '../src/followUps/settleFound.ts';
import type { Invoice } from '../src/invoice/invoice.ts';
import { readInvoice } from '../src/invoice/readInvoices.ts';
import { shardOf } from '../src/invoice/shard.ts';
import { stripeAmount } from '../src/paying/stripe/stripeAmount.ts';

/** Who is said to have done it, in the timeline of an invoice. */
const by = 'after-restore';
/** Invoices that are looked at side by side. */
const atOnce = 16;

/** What was found of one payment that Stripe made. */
export type Finding =
  /** The database knows it. */
  | 'known'
  /** The invoice was open and is paid now; without `apply` it would be. */
  | 'marked'
  /** The database has no such invoice: it came after the time of the backup, or SHARDS is another number. */
  | 'missing'
  /** The payment is over another amount or currency than the invoice. */
  | 'differs'
  /** The invoice is paid by another payment: it was charged twice. */
  | 'twice'
  /** The invoice changed meanwhile, or the store gave no clear answer: run it again. */
  | 'again';

export interface Found {
  finding: Finding;
  invoiceId: string;
  paymentId: string;
}

/**
 * Holds every successful payment that Stripe made since `since` against a database restored from a backup, and marks
 * the invoices paid that were charged after the time of the backup. The database knows nothing of their keys: when Stripe
 * has forgotten them too (after 24 h), the app would charge again.
 *
 * Stripe's list is used, not its search: the search shows a payment late, and minutes without it are what this is about
 * (https://docs.stripe.com/search#data-freshness). The app must not pay meanwhile.
 */
export async function* settleRestored({
  stripe,
  container,
  shards,
  since,
  apply,
  now,
}: {
  stripe: Stripe;
  container: Container;
  shards: number;
  /** Both in milliseconds. */
  since: number;
  now: number;
  /** False: only looks. */
  apply: boolean;
}): AsyncGenerator<Found> {
  const limit = pLimit(atOnce);
  const settled = new Map<string, string>();
  let page: Promise<Found>[] = [];
  for await (const payment of stripe.paymentIntents.list({
    created: { gte: Math.floor(since / 1000) },
    limit: 100,
  })) {
    const { invoiceId } = payment.metadata;
    if (payment.status !== 'succeeded' || invoiceId === undefined) continue;
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
    const before = settled.get(invoiceId);
    settled.set(invoiceId, payment.id);
    if (before !== undefined) return 'twice';
    const shard = shardOf(invoiceId, shards);
    const invoice = await readInvoice(container, shard, invoiceId);
    if (invoice === undefined) return 'missing';
    if (invoice.status === 'paid') return invoice.payment.id === payment.id ? 'known' : 'twice';
    if (!isOf(payment, invoice)) return 'differs';
    if (!apply) return 'marked';
    const paidAt = new Date(payment.created * 1000).toISOString();
    const occasion = `restored-${payment.id}`;
    const found = { paymentId: payment.id, paidAt, found: 'after a restore', occasion };
    const written = await transact(
      container,
      shard,
      settleFound(invoice, found, { now, by, notifies: false }),
    );
    return written.kind === 'committed' ? 'marked' : 'again';
  }
}

function isOf(payment: Stripe.PaymentIntent, { amountMinor, currency }: Invoice): boolean {
  const wanted = stripeAmount(amountMinor, currency);
  return (
    'amount' in wanted && payment.amount === wanted.amount && payment.currency === currency.toLowerCase()
  );
}
