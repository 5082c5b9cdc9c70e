import type Stripe from 'stripe';
import { errorText } from '../platform/errorText.ts';
import { classifyError, classifyIntent } from './classifyStripe.ts';
import type { ChargeRequest, PaymentProvider } from './provider.ts';
import { stripeAmount } from './stripeAmount.ts';
import { type StripeOptions, stripeClient } from './stripeClient.ts';

/**
 * Charges through Stripe's PaymentIntents: created and confirmed in one call, off-session, under the
 * request's idempotency key. Nothing is repeated in here: whether to ask again is decided by the outcome.
 */
export function stripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = stripeClient(options);
  return {
    async charge(request) {
      const amount = stripeAmount(request.amountMinor, request.currency);
      if ('refused' in amount) return { kind: 'refused', code: 'amount', message: amount.refused };
      try {
        const intent = await stripe.paymentIntents.create(parameters(request, amount.amount), {
          idempotencyKey: request.idempotencyKey,
        });
        return classifyIntent(intent);
      } catch (error) {
        return classifyError(error);
      }
    },

    async find(invoiceId) {
      try {
        const query = `metadata['invoiceId']:'${escapeQuery(invoiceId)}' AND status:'succeeded'`;
        const { data } = await stripe.paymentIntents.search({ query, limit: 1 });
        const [payment] = data;
        return payment === undefined ? { kind: 'notFound' } : { kind: 'found', paymentId: payment.id };
      } catch (error) {
        return { kind: 'unknown', message: errorText(error) };
      }
    },
  };
}

/**
 * All that the idempotency key stands for. Cards only: a debit is `processing` for days, which no retry of
 * a call outlasts; and without naming the methods Stripe asks where to send a customer back to who is not
 * there.
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
 * Stripe's query language escapes quotes and backslashes with a backslash (https://docs.stripe.com/search).
 */
function escapeQuery(text: string): string {
  return text.replaceAll(/['\\]/g, (character) => `\\${character}`);
}
