import type Stripe from 'stripe';
import { atRisk, goneBack } from '../invoice/reversals.ts';
import { foundAmong, movesMoney } from '../paying/foundPayment.ts';
import { isReversedInFull, noReversals } from '../paying/mergeReversals.ts';
import type {
  ChargeOutcome,
  ChargeRequest,
  FoundPayment,
  PaymentProvider,
  ProviderPayment,
  ProviderReversals,
  RateLimited,
  RetrievedPayment,
  SoughtPayment,
} from '../paying/paymentProvider.ts';
import { withTimeOut } from './stripeClient.ts';
import { isMissing, rateLimited, silentAfter } from './stripeErrors.ts';
import { progressOf } from './stripeIntent.ts';
import { paymentFrom, reversalsFrom } from './stripePayment.ts';

/** More refunds of one payment than anybody makes; the most that the package reads page by page. */
const mostRefunds = 10_000;

/** Clock skew tolerated between us and Stripe, in either direction (s). */
const clockSkewSeconds = 3_600;

/** Reads payments: none of these calls changes anything. `mostListed`: payments of one customer that a look-up reads at most. */
export function stripeLookups(
  stripe: Stripe,
  { timeoutMs, mostListed = 2_000 }: { timeoutMs: number; mostListed?: number },
): Pick<PaymentProvider, 'find' | 'retrieve'> {
  return {
    async find(sought) {
      const look = async (): Promise<FoundPayment | RateLimited> => {
        const seen: ProviderPayment[] = [];
        let unlisted: 'deleted' | 'unknown' | 'tooMany' | undefined;
        let failure: { error: unknown } | undefined;
        // Either alone decides: search is not available everywhere, and it lags behind the list.
        for (const payments of [searched(sought), listed(sought)]) {
          if (payments === undefined) continue;
          try {
            for await (const payment of named(sought, payments)) seen.push(payment);
            failure = undefined;
          } catch (error) {
            const limited = rateLimited(error);
            if (limited !== undefined) return limited;
            if (isMissing(error)) unlisted = await isDeleted(sought.customerId);
            else if (!(error instanceof TooMany)) failure = { error };
            // If nothing was sent under its key, what others have paid is found by the search.
            else if (sought.until !== undefined) unlisted = 'tooMany';
          }
          const found = foundAmong(seen, sought);
          if (found.kind !== 'notFound' && found.kind !== 'reversed') return found;
        }
        const silent = failure === undefined ? undefined : silentAfter(failure.error);
        // Of too many payments a search that is away may still show the one; one that is not offered never does.
        const mayStillShow = unlisted === 'tooMany' && silent?.answered !== true;
        if (silent !== undefined && (unlisted === undefined || mayStillShow)) return silent;
        const found = foundAmong(seen, sought);
        return found.kind === 'notFound' && unlisted !== undefined ? { ...found, unlisted } : found;
      };
      return withTimeOut(timeoutMs, look, silentAfter);
    },

    async retrieve(paymentId, deployment) {
      return withTimeOut<RetrievedPayment | RateLimited>(
        timeoutMs,
        () => readPayment(stripe, paymentId, deployment),
        (error) => (isMissing(error) ? { kind: 'notFound' } : (rateLimited(error) ?? silentAfter(error))),
      );
    },
  };

  /** Stripe remembers the customers that were deleted (https://docs.stripe.com/api/customers/delete). */
  async function isDeleted(customerId: string): Promise<'deleted' | 'unknown'> {
    const customer = await stripe.customers.retrieve(customerId).catch(() => undefined);
    return customer?.deleted === true ? 'deleted' : 'unknown';
  }

  /** Payments in any state: one that is alive must be seen, too. */
  function searched({ invoiceId }: SoughtPayment): AsyncIterable<Stripe.PaymentIntent> {
    const query = `metadata['invoiceId']:'${escapeQuery(invoiceId)}'`;
    return stripe.paymentIntents.search({ query, limit: 100, expand: ['data.latest_charge'] });
  }

  /**
   * The payments of a customer in the time in which calls were made. Stripe's search lags, up to a minute and longer during an
   * outage; its lists do not (https://docs.stripe.com/search#data-freshness). Undefined if that time is not known.
   */
  function listed(sought: SoughtPayment): AsyncIterable<Stripe.PaymentIntent> | undefined {
    const { customerId: customer, since, until } = sought;
    if (since === undefined) return undefined;
    const gte = Math.floor(Date.parse(since) / 1000) - clockSkewSeconds;
    const created =
      until === undefined ? { gte } : { gte, lte: Math.ceil(Date.parse(until) / 1000) + clockSkewSeconds };
    const expand = ['data.latest_charge'];
    const all = stripe.paymentIntents.list({ customer, created, limit: 100, expand });
    return atMost(mostListed, all);
  }

  /**
   * Payments among these that name the invoice and move money. Stripe's exact match ignores case
   * (https://docs.stripe.com/search), our ids do not.
   */
  async function* named(
    { invoiceId, deployment }: SoughtPayment,
    intents: AsyncIterable<Stripe.PaymentIntent>,
  ): AsyncGenerator<ProviderPayment> {
    for await (const intent of intents) {
      if (intent.metadata.invoiceId !== invoiceId || !movesMoney({ progress: progressOf(intent) })) continue;
      const gone = isSettled(intent) ? await readReversed(stripe, intent) : undefined;
      yield paymentFrom(intent, gone?.reversals ?? noReversals, deployment);
    }
  }
}

class TooMany extends Error {
  override readonly name = 'TooMany';
}

/** @throws {TooMany} if there are more */
async function* atMost<T>(most: number, items: AsyncIterable<T>): AsyncGenerator<T> {
  let left = most;
  for await (const item of items) {
    if (left-- === 0) throw new TooMany();
    yield item;
  }
}

function isSettled(intent: Stripe.PaymentIntent): boolean {
  return progressOf(intent).kind === 'succeeded';
}

/** A payment with its refunds and disputes: three calls if it succeeded. @throws what the package throws */
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
 * Reads what has gone back of a payment that succeeded, or may; undefined if nothing. Its charge, which must be expanded,
 * tells whether there is anything to read. @throws what the package throws
 */
async function readReversed(
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

/** A payment that has succeeded, with what has gone back since. */
export async function asItIsNow(
  stripe: Stripe,
  paymentId: string,
  { amountMinor }: Pick<ChargeRequest, 'amountMinor'>,
): Promise<ChargeOutcome> {
  const intent = await stripe.paymentIntents.retrieve(paymentId, { expand: ['latest_charge'] });
  const gone = await readReversed(stripe, intent);
  if (gone === undefined) return { kind: 'succeeded', paymentId };
  return isReversedInFull(gone.reversals, amountMinor)
    ? { kind: 'reversed', message: gone.message }
    : { kind: 'succeeded', paymentId, reversals: gone.reversals };
}

/** Stripe's query language escapes quotes and backslashes with a backslash (https://docs.stripe.com/search). */
function escapeQuery(text: string): string {
  return text.replaceAll(/['\\]/g, (character) => `\\${character}`);
}
