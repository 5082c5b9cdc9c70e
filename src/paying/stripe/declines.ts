import type { ChargeOutcome } from '../paymentProvider.ts';

/**
 * Decline codes after which another try cannot work or must not be made
 * (https://docs.stripe.com/declines/codes, and those that Stripe's own retries skip:
 * https://docs.stripe.com/billing/revenue-recovery/smart-retries). Every other code, including a new one, counts as soft:
 * the retry schedule limits what that can cost.
 */
const hardDeclines: ReadonlySet<string> = new Set([
  'account_closed',
  'account_frozen',
  'authentication_required',
  'bank_account_restricted',
  'bank_ownership_changed',
  'canceled',
  'card_not_supported',
  'charge_exceeds_source_limit',
  'currency_not_supported',
  'debit_not_authorized',
  'do_not_try_again',
  'expired_card',
  'fraudulent',
  'highest_risk_level',
  'incorrect_account_holder_name',
  'incorrect_cvc',
  'incorrect_number',
  'incorrect_pin',
  'invalid_account',
  'invalid_account_number',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
  'invalid_pin',
  'lost_card',
  'merchant_blacklist',
  'new_account_information_available',
  'no_account',
  'not_permitted',
  'offline_pin_required',
  'online_or_offline_pin_required',
  'payment_intent_mandate_invalid',
  'pickup_card',
  'pin_try_exceeded',
  'restricted_card',
  'revocation_of_all_authorizations',
  'revocation_of_authorization',
  'service_not_allowed',
  'stolen_card',
  'stop_payment_order',
  'testmode_decline',
  'transaction_not_allowed',
]);

/**
 * The issuer's advice takes precedence over the code
 * (https://docs.stripe.com/declines/card#retrying-issuer-declines).
 */
const hardAdvice: ReadonlySet<string> = new Set(['confirm_card_data', 'do_not_try_again']);

/**
 * The code that says most about a decline. A card's decline code is the issuer's reason. A bank debit has its reason as the
 * code, and a decline code that says nothing. Where there is none the package gives an empty one.
 */
export function codeOf(
  error: { code?: string | undefined; decline_code?: string | undefined } | null | undefined,
): string | undefined {
  const { code, decline_code: reason } = error ?? {};
  const vague = reason === 'generic_decline' && code !== undefined && code !== 'card_declined';
  return (vague ? code : reason) || code || undefined;
}

/** A decline with this code, and whether another try could work. Pure. */
export function declined(
  code: string,
  message: string,
  advice = '',
): Extract<ChargeOutcome, { kind: 'declined' }> {
  const severity = hardDeclines.has(code) || hardAdvice.has(advice) ? 'hard' : 'soft';
  return { kind: 'declined', severity, code, message };
}
