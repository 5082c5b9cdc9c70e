import Stripe from 'stripe';
import type { ChargeOutcome } from './provider.ts';

/**
 * Decline codes after which another try cannot work, or must not be made
 * (https://docs.stripe.com/declines/codes). Every other code, also one that is new, counts as soft: the retry schedule
 * bounds what that can cost.
 */
const hardDeclines = new Set([
  'authentication_required',
  'card_not_supported',
  'currency_not_supported',
  'expired_card',
  'fraudulent',
  'incorrect_number',
  'invalid_account',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
  'lost_card',
  'merchant_blacklist',
  'new_account_information_available',
  'pickup_card',
  'restricted_card',
  'revocation_of_all_authorizations',
  'revocation_of_authorization',
  'stolen_card',
  'stop_payment_order',
  'testmode_decline',
  'transaction_not_allowed',
]);

/** Socket errors that can only come before the request was sent. */
const beforeSending = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** What a payment intent's status means for a charge that was created and confirmed in one call. */
export function classifyIntent({ id, status }: { id: string; status: string }): ChargeOutcome {
  switch (status) {
    case 'succeeded':
      return { kind: 'succeeded', paymentId: id };
    case 'requires_action':
    case 'requires_confirmation':
      return declined('authentication_required', 'the customer has to confirm the payment');
    case 'requires_payment_method':
    case 'canceled':
      return declined(status, `the payment intent is ${status}`);
    default:
      return { kind: 'unknown', message: `the payment intent is ${status}` };
  }
}

/**
 * What an error of the `stripe` package means. Only what surely did not charge is transient; a time-out or a reset
 * after sending, and every 5xx, may have charged.
 */
export function classifyError(error: unknown): ChargeOutcome {
  if (!(error instanceof Stripe.errors.StripeError)) {
    return { kind: 'unknown', message: error instanceof Error ? error.message : String(error) };
  }
  const { message } = error;
  if (error instanceof Stripe.errors.StripeCardError) {
    return declined(error.decline_code ?? error.code ?? 'card_declined', message);
  }
  if (error instanceof Stripe.errors.StripeIdempotencyError) {
    // The same type says "another request with this key is under way" (409) and "other parameters" (400).
    return error.statusCode === 409 ? { kind: 'unknown', message } : { kind: 'keyReused', message };
  }
  if (error instanceof Stripe.errors.StripeRateLimitError || error.statusCode === 429) {
    const seconds = Number(error.headers?.['retry-after']);
    const retryAfter = Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
    return { kind: 'transient', code: error.code ?? 'rate_limit', message, ...retryAfter };
  }
  if (error.statusCode === 409) return { kind: 'unknown', message };
  if (error.statusCode === 401 || error.statusCode === 403) {
    // Nothing is wrong with the invoice: it waits until the key is mended.
    return { kind: 'transient', code: 'authentication', message: 'the provider refuses our secret key' };
  }
  if (error instanceof Stripe.errors.StripeConnectionError) {
    const code = socketCode(error.detail);
    if (code !== undefined && beforeSending.has(code)) return { kind: 'transient', code, message };
    return { kind: 'unknown', message: code === undefined ? message : `${message} (${code})` };
  }
  if (error instanceof Stripe.errors.StripeInvalidRequestError) {
    return { kind: 'refused', code: error.code ?? 'invalid_request', message };
  }
  return { kind: 'unknown', message };
}

function declined(code: string, message: string): ChargeOutcome {
  return { kind: 'declined', severity: hardDeclines.has(code) ? 'hard' : 'soft', code, message };
}

function socketCode(detail: unknown): string | undefined {
  if (typeof detail !== 'object' || detail === null || !('code' in detail)) return undefined;
  return typeof detail.code === 'string' ? detail.code : undefined;
}
