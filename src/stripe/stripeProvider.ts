import Stripe from 'stripe';
import type {
  AccountAnswer,
  ChargeOutcome,
  ChargeRequest,
  PaymentProvider,
  ProviderAccount,
  RateLimited,
} from '../paying/paymentProvider.ts';
import { stripeAmount } from './stripeAmount.ts';
import { abandon, canceledFirst, stripeChanges } from './stripeChanges.ts';
import { isLiveKey, type StripeOptions, stripeClient, withTimeOut } from './stripeClient.ts';
import { classifyError, rateLimited, silentAfter } from './stripeErrors.ts';
import { classifyIntent, progressOf } from './stripeIntent.ts';
import { asItIsNow, stripeLookups } from './stripeLookups.ts';

/**
 * Charges through Stripe's PaymentIntents: created and confirmed in one call, off-session, under the request's idempotency
 * key. Nothing is retried here: the outcome decides whether to ask again.
 *
 * Every call resolves after `timeoutMs` at the latest, whatever Stripe sends; the outcome is then unknown.
 */
export function stripeProvider(options: StripeOptions): PaymentProvider & ProviderAccount {
  const { timeoutMs } = options;
  const stripe = stripeClient(options);
  return {
    async charge(request) {
      const amount = stripeAmount(request.amountMinor, request.currency);
      if ('refused' in amount) return { kind: 'refused', code: 'amount', message: amount.refused };
      return withTimeOut<ChargeOutcome | RateLimited>(
        timeoutMs,
        async () => {
          const { idempotencyKey } = request;
          const charged = parameters(request, amount.amount);
          return outcomeOf(await stripe.paymentIntents.create(charged, { idempotencyKey }), request);
        },
        (error) => {
          const outcome = classifyError(error);
          const id = error instanceof Stripe.errors.StripeCardError ? error.payment_intent?.id : undefined;
          return outcome.kind === 'declined' && id !== undefined
            ? canceledFirst(stripe, id, outcome)
            : outcome;
        },
      );
    },
    ...stripeLookups(stripe, { timeoutMs }),
    ...stripeChanges(stripe, { timeoutMs }),

    // https://docs.stripe.com/api/accounts. A restricted key may not read its account unless it was given the permission, which
    // Stripe names in its answer; the mode is known all the same.
    async account() {
      const mode = isLiveKey(options.secretKey) ? 'live' : 'test';
      return withTimeOut<AccountAnswer | RateLimited>(
        timeoutMs,
        async () => ({ kind: 'account', id: (await stripe.accounts.retrieveCurrent()).id, mode }),
        (error) =>
          error instanceof Stripe.errors.StripePermissionError
            ? { kind: 'account', mode, message: whyUnreadable(error.message) }
            : (rateLimited(error) ?? silentAfter(error)),
      );
    },
  };

  async function outcomeOf(
    intent: Stripe.Response<Stripe.PaymentIntent>,
    request: ChargeRequest,
  ): Promise<ChargeOutcome> {
    const outcome = classifyIntent(intent);
    const progress = progressOf(intent);
    if (outcome.kind === 'declined') return canceledFirst(stripe, intent.id, outcome);
    if (progress.kind === 'alive' && progress.waitsForCustomer) return abandon(stripe, intent.id, outcome);
    // A key repeats its first answer, which may be out of date: the money may have gone back since.
    const replayed = intent.lastResponse.headers['idempotent-replayed'] === 'true';
    return replayed && outcome.kind === 'succeeded' ? asItIsNow(stripe, intent.id, request) : outcome;
  }
}

/**
 * Everything that the idempotency key stands for. The methods are named because Stripe otherwise asks for a URL to return
 * the customer to, and there is no customer present. A bank debit goes on the mandate that was given when the payment
 * method was saved (https://docs.stripe.com/payments/sepa-debit/set-up-payment).
 */
function parameters(request: ChargeRequest, amount: number): Stripe.PaymentIntentCreateParams {
  const { invoiceId, currency, customerId, paymentMethod, description, idempotencyKey, deployment } = request;
  return {
    amount,
    currency: currency.toLowerCase(),
    customer: customerId,
    payment_method: paymentMethod,
    allowed_payment_method_types: [...(request.methodTypes ?? ['card' as const])],
    off_session: true,
    confirm: true,
    ...(description === undefined ? {} : { description }),
    metadata: { invoiceId, idempotencyKey, ...(deployment === undefined ? {} : { deployment }) },
  };
}

/** Stripe's answer names the permission, but the key as well, if only in part. */
function whyUnreadable(message: string): string {
  const [permission] = /\brak_\w+/.exec(message) ?? [];
  const needed = permission === undefined ? '' : `; the permission ${permission} would allow it`;
  return `the secret key may not read its account${needed}`;
}
