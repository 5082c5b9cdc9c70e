import { errorText } from '@payonce/leases/error-text';
import Stripe from 'stripe';
import type { ChargeOutcome, ProviderFault, ProviderSilent, RateLimited } from '../paying/paymentProvider.ts';

/**
 * Codes that blame our account or key, not the invoice (https://docs.stripe.com/error-codes). Parking every invoice for that
 * would be wrong: they wait until somebody fixes it.
 */
const accountFaults: ReadonlySet<string> = new Set([
  'account_invalid',
  'api_key_expired',
  'livemode_mismatch',
  'platform_api_key_expired',
  'secret_key_required',
  'testmode_charges_only',
  'tls_version_unsupported',
]);

/**
 * Errors that can only occur before any of the request is sent. `EHOSTUNREACH` and `ENETUNREACH` are none: a route that
 * goes away ends established connections with them, and only the system call tells the two apart.
 */
const beforeSending: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ENOTFOUND',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

type ErrorOutcome = Exclude<ChargeOutcome, { kind: 'succeeded' | 'processing' | 'reversed' | 'blocked' }>;

/**
 * Converts an error of the `stripe` package into an outcome. An error is transient or refused only if it certainly charged
 * nothing. A time-out or reset after sending, every 5xx, and anything not understood may have charged. Pure.
 *
 * A 409 says that the first call with the idempotency key is still in flight. It may be charging at this moment, so the
 * outcome is unknown; asking again with the same key will tell.
 */
export function classifyError(error: unknown): ErrorOutcome | RateLimited {
  if (!(error instanceof Stripe.errors.StripeError)) return silentAfter(error);
  const { message, code } = error;
  if (error instanceof Stripe.errors.StripeConnectionError) return classifyConnectionError(error);
  if (error instanceof Stripe.errors.StripeCardError) {
    return declined(codeOf(error) ?? 'card_declined', message, error.advice_code);
  }
  if (error instanceof Stripe.errors.StripeIdempotencyError) return { kind: 'keyReused', message };
  const limited = rateLimited(error);
  if (limited !== undefined) return limited;
  if (faultOf(error) === 'keyRejected') {
    return { kind: 'transient', code: 'authentication', message: refusal(error), fault: 'keyRejected' };
  }
  if (error instanceof Stripe.errors.StripeInvalidRequestError) {
    return { kind: 'refused', code: code ?? 'invalid_request', message };
  }
  return {
    kind: 'unknown',
    message: error.statusCode === undefined ? message : `${error.statusCode} ${message}`,
    // https://docs.stripe.com/api/idempotent_requests
    ...(error.headers?.['idempotent-replayed'] === 'true' ? { remembered: true } : {}),
    ...withFault(error),
  };
}

/** Converts the error of a call that is no charge: it says nothing about a payment, but may show the provider's fault. */
export function silentAfter(error: unknown): ProviderSilent {
  const message = faultOf(error) === 'keyRejected' ? refusal(error) : errorText(error);
  return { kind: 'unknown', message, ...withFault(error), ...(isRefused(error) ? { answered: true } : {}) };
}

/** Client errors that say nothing about the request: another call is in the way, or the provider gave up waiting for it. */
const notAboutRequest: ReadonlySet<number> = new Set([408, 409, 429]);

/** True if the provider refused this request and would take others. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Stripe.errors.StripeError) || faultOf(error) !== undefined) return false;
  const { statusCode = 0 } = error;
  return statusCode >= 400 && !notAboutRequest.has(statusCode);
}

/** Stripe's own words repeat a part of the key. */
function refusal(error: unknown): string {
  const { code, statusCode } = error instanceof Stripe.errors.StripeError ? error : {};
  return `Stripe refuses our account or secret key (${code ?? statusCode})`;
}

function withFault(error: unknown): { fault?: ProviderFault } {
  const fault = faultOf(error);
  return fault === undefined ? {} : { fault };
}

/** Finds the provider's own fault in an error; undefined if no answer came, or the answer was about the request. */
function faultOf(error: unknown): ProviderFault | undefined {
  if (!(error instanceof Stripe.errors.StripeError)) return undefined;
  const { statusCode, code } = error;
  if (statusCode === 401 || statusCode === 403 || accountFaults.has(code ?? '')) return 'keyRejected';
  return statusCode === undefined || statusCode < 500 ? undefined : 'badAnswer';
}

function classifyConnectionError({ message, detail }: { message: string; detail?: unknown }): ErrorOutcome {
  const code = textOf(detail, 'code');
  const syscall = textOf(detail, 'syscall');
  if (syscall === 'connect' || syscall === 'getaddrinfo' || beforeSending.has(code ?? '')) {
    return { kind: 'transient', code: code ?? 'connection', message };
  }
  return { kind: 'unknown', message: code === undefined ? message : `${message} (${code})` };
}

/**
 * Converts a 429; undefined for any other error. With `lock_timeout` another call is at work on the same object
 * (https://docs.stripe.com/rate-limits#object-lock-timeouts), which slower calls would not help.
 */
export function rateLimited(error: unknown): RateLimited | undefined {
  if (!(error instanceof Stripe.errors.StripeRateLimitError)) return undefined;
  const { code, message, headers } = error;
  return { kind: 'rateLimited', overRate: code !== 'lock_timeout', message, ...retryAfter(headers) };
}

/** Stripe has no object of that id. */
export function isMissing(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'resource_missing';
}

/** Believed at most (s): all instances wait as long, and nobody can end it. If the provider means more, it says so again. */
const longestRetryAfter = 600;

/** The header counts seconds. */
function retryAfter(headers: Record<string, string> | undefined): { retryAfterMs?: number } {
  const seconds = Math.min(Number(headers?.['retry-after']), longestRetryAfter);
  return seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
}

function textOf(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const property: unknown = Reflect.get(value, name);
  return typeof property === 'string' ? property : undefined;
}

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

/** The issuer's advice takes precedence over the code (https://docs.stripe.com/declines/card#retrying-issuer-declines). */
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
