import type Stripe from 'stripe';
import { atRisk, goneBack } from '../../invoice/reversals.ts';
import { foundAmong, movesMoney } from '../foundPayment.ts';
import { noReversals } from '../mergeReversals.ts';
import type {
  FoundPayment,
  PaymentProvider,
  ProviderPayment,
  ProviderReversals,
  RateLimited,
  RetrievedPayment,
  SoughtPayment,
} from '../paymentProvider.ts';
import { isMissing, rateLimited, silentAfter } from './classifyStripe.ts';
import { late, withDeadline } from './stripeClient.ts';
import { paymentFrom, progressOf, reversalsFrom } from './stripeIntent.ts';

/** Payments of one customer that a look-up reads at most. */
const mostListed = 2_000;

/** More refunds of one payment than anybody makes; the most that the package reads page by page. */
const mostRefunds = 10_000;

/** How far our clock may be ahead of Stripe's, in seconds. */
const clockSkewSeconds = 3_600;

/** Reads payments: none of these calls changes anything. */
export function stripeLookups(
  stripe: Stripe,
  { timeoutMs }: { timeoutMs: number },
): Required<Pick<PaymentProvider, 'find' | 'retrieve'>> {
  return {
    async find(sought) {
      return withDeadline<FoundPayment | RateLimited>(timeoutMs, late(timeoutMs), async (signal) => {
        try {
          // Without the status: a payment that is alive must be seen, too.
          const query = `metadata['invoiceId']:'${escapeQuery(sought.invoiceId)}'`;
          const searched = stripe.paymentIntents.search({
            query,
            limit: 100,
            expand: ['data.latest_charge'],
          });
          const found = foundAmong(await named(sought, searched, signal), sought);
          const isOver = found.kind === 'notFound' || found.kind === 'reversed';
          if (!isOver || sought.since === undefined) return found;
          const latest = foundAmong(await named(sought, listed(sought, sought.since), signal), sought);
          return latest.kind === 'notFound' ? found : latest;
        } catch (error) {
          return rateLimited(error) ?? silentAfter(error);
        }
      });
    },

    async retrieve(paymentId, deployment) {
      return withDeadline<RetrievedPayment | RateLimited>(timeoutMs, late(timeoutMs), async () => {
        try {
          return await readPayment(stripe, paymentId, deployment);
        } catch (error) {
          if (isMissing(error)) return { kind: 'notFound' };
          return rateLimited(error) ?? silentAfter(error);
        }
      });
    },
  };

  /**
   * The payments of a customer since a time. Stripe's search lags, up to a minute and longer during an outage; its lists do
   * not (https://docs.stripe.com/search#data-freshness).
   *
   * @throws if there are more than can be read in time
   */
  async function* listed({ customerId: customer }: SoughtPayment, since: string) {
    const gte = Math.floor(Date.parse(since) / 1000) - clockSkewSeconds;
    let left = mostListed;
    const expand = ['data.latest_charge'];
    for await (const intent of stripe.paymentIntents.list({
      customer,
      created: { gte },
      limit: 100,
      expand,
    })) {
      if (left-- === 0) throw new Error(`the customer has more than ${mostListed} payments since ${since}`);
      yield intent;
    }
  }

  /**
   * Those of the payments that name the invoice and move money. Stripe's exact match ignores case
   * (https://docs.stripe.com/search), our ids do not.
   *
   * @throws the reason of `signal`, if it aborts between two payments
   */
  async function named(
    { invoiceId, deployment }: SoughtPayment,
    intents: AsyncIterable<Stripe.PaymentIntent>,
    signal: AbortSignal,
  ): Promise<ProviderPayment[]> {
    const payments: ProviderPayment[] = [];
    for await (const intent of intents) {
      signal.throwIfAborted();
      if (intent.metadata.invoiceId !== invoiceId || !movesMoney({ progress: progressOf(intent) })) continue;
      const gone = isSettled(intent) ? await readReversed(stripe, intent) : undefined;
      payments.push(paymentFrom(intent, gone?.reversals ?? noReversals, deployment));
    }
    return payments;
  }
}

function isSettled(intent: Stripe.PaymentIntent): boolean {
  return progressOf(intent).kind === 'succeeded';
}

/**
 * A payment with its refunds and disputes: three calls if it succeeded.
 *
 * @throws what the package throws
 */
async function readPayment(
  stripe: Stripe,
  paymentId: string,
  deployment: string | undefined,
): Promise<ProviderPayment> {
  const intent = await stripe.paymentIntents.retrieve(paymentId, { expand: ['latest_charge'] });
  const reversals = isSettled(intent) ? await readReversals(stripe, intent) : noReversals;
  return paymentFrom(intent, reversals, deployment);
}

async function readReversals(stripe: Stripe, { id, currency }: Stripe.PaymentIntent) {
  const query = { payment_intent: id, limit: 100 };
  const [refunds, disputes] = await Promise.all([
    // All of them: whether one of ours is among them decides whether it is sent again.
    stripe.refunds.list(query).autoPagingToArray({ limit: mostRefunds }),
    stripe.disputes.list(query),
  ]);
  return reversalsFrom(refunds, disputes.data, currency);
}

/**
 * What has gone back of a payment that succeeded, or may; undefined if nothing. Its charge, which must be expanded, tells
 * whether there is anything to read.
 *
 * @throws what the package throws
 */
export async function readReversed(
  stripe: Stripe,
  intent: Stripe.PaymentIntent,
): Promise<{ message: string; reversals: ProviderReversals } | undefined> {
  const { latest_charge: charge } = intent;
  const known = typeof charge === 'object' && charge !== null;
  if (known && charge.amount_refunded === 0 && !charge.disputed) return undefined;
  const reversals = await readReversals(stripe, intent);
  const { refunds, disputes } = reversals;
  const parts = [
    ...goneBack(refunds).map(({ amountMinor, status }) => `a refund of ${amountMinor} is ${status}`),
    ...atRisk(disputes).map(({ amountMinor, status }) => `a dispute over ${amountMinor} is ${status}`),
  ];
  if (parts.length === 0) return undefined;
  const message = `the provider has payment ${intent.id} for it, but ${parts.join(', ')} (in minor units)`;
  return { message, reversals };
}

/**
 * Stripe's query language escapes quotes and backslashes with a backslash (https://docs.stripe.com/search).
 */
function escapeQuery(text: string): string {
  return text.replaceAll(/['\\]/g, (character) => `\\${character}`);
}
