import type Stripe from 'stripe';
import { stripeAmount } from '../../invoice/stripeAmount.ts';
import { errorText } from '../../platform/errorText.ts';
import type {
  ChargeOutcome,
  ChargeRequest,
  FoundPayment,
  PaymentProvider,
  RateLimited,
  SoughtPayment,
} from '../paymentProvider.ts';
import { classifyError, classifyIntent, rateLimited } from './classifyStripe.ts';
import { type StripeOptions, stripeClient, withDeadline, withoutCallSite } from './stripeClient.ts';

/**
 * Charges through Stripe's PaymentIntents: created and confirmed in one call, off-session, under the request's idempotency
 * key. Nothing is retried here: the outcome decides whether to ask again.
 *
 * Both calls resolve after `timeoutMs` at the latest, whatever Stripe sends; the outcome is then unknown.
 */
export function stripeProvider(options: StripeOptions): PaymentProvider {
  const { timeoutMs } = options;
  const stripe = stripeClient(options);
  const late = {
    kind: 'unknown',
    message: `the provider had not answered in full after ${timeoutMs} ms`,
  } as const;
  return {
    async charge(request) {
      const amount = stripeAmount(request.amountMinor, request.currency);
      if ('refused' in amount) return { kind: 'refused', code: 'amount', message: amount.refused };
      return withDeadline<ChargeOutcome | RateLimited>(timeoutMs, late, async () => {
        try {
          const { idempotencyKey } = request;
          const intent = await withoutCallSite(() =>
            stripe.paymentIntents.create(parameters(request, amount.amount), { idempotencyKey }),
          );
          return classifyIntent(intent);
        } catch (error) {
          return classifyError(error);
        }
      });
    },

    async find(sought) {
      const query = `metadata['invoiceId']:'${escapeQuery(sought.invoiceId)}' AND status:'succeeded'`;
      return withDeadline<FoundPayment | RateLimited>(timeoutMs, late, async (signal) => {
        try {
          return await pick(sought, stripe.paymentIntents.search({ query, limit: 100 }), signal);
        } catch (error) {
          return rateLimited(error) ?? { kind: 'unknown', message: errorText(error) };
        }
      });
    },
  };
}

/**
 * Everything that the idempotency key stands for. Cards only: a debit is `processing` for days, longer than any retry. The
 * methods are named because Stripe otherwise asks for a URL to return the customer to, and there is no customer present.
 */
function parameters(request: ChargeRequest, amount: number): Stripe.PaymentIntentCreateParams {
  const { invoiceId, currency, customerId, paymentMethod, description, idempotencyKey } = request;
  return {
    amount,
    currency: currency.toLowerCase(),
    customer: customerId,
    payment_method: paymentMethod,
    allowed_payment_method_types: ['card'],
    off_session: true,
    confirm: true,
    ...(description === undefined ? {} : { description }),
    metadata: { invoiceId, idempotencyKey },
  };
}

/**
 * The invoice's payment among the search results. They include payments of other invoices: Stripe's exact match ignores
 * case (https://docs.stripe.com/search), our ids do not.
 *
 * @throws the reason of `signal`, if it aborts between two payments
 */
async function pick(
  { invoiceId, amountMinor, currency }: SoughtPayment,
  payments: AsyncIterable<Stripe.PaymentIntent>,
  signal: AbortSignal,
): Promise<FoundPayment> {
  const wanted = stripeAmount(amountMinor, currency);
  const other: string[] = [];
  for await (const { id, amount, currency: paidIn, metadata } of payments) {
    signal.throwIfAborted();
    if (metadata.invoiceId !== invoiceId) continue;
    const equal = 'amount' in wanted && amount === wanted.amount && paidIn === currency.toLowerCase();
    if (equal) return { kind: 'found', paymentId: id };
    other.push(`${id} over ${amount} ${paidIn}`);
  }
  if (other.length === 0) return { kind: 'notFound' };
  const why = `the provider has ${other.join(', ')} in its own units, not ${amountMinor} ${currency} in minor units`;
  return { kind: 'differs', message: why };
}

/**
 * Stripe's query language escapes quotes and backslashes with a backslash (https://docs.stripe.com/search).
 */
function escapeQuery(text: string): string {
  return text.replaceAll(/['\\]/g, (character) => `\\${character}`);
}
