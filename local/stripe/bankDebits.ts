import { days } from './days.ts';
import type { MethodType } from './methodTypes.ts';
import type { Decline, LateFailure, TestMethod, WhenCharged } from './testMethod.ts';

interface Scheme {
  type: MethodType;
  /**
   * Usual time until the bank confirms or fails the debit (ms). Stripe counts business days; these are
   * calendar days.
   */
  usualMs: number;
  /** The longest it takes: the outcome of Stripe's "delayed" test accounts. */
  longestMs: number;
}

/** 5 days, 14 at most: https://docs.stripe.com/payments/sepa-debit, https://docs.stripe.com/sources/sepa-debit. */
const sepa: Scheme = { type: 'sepa_debit', usualMs: days(5), longestMs: days(14) };
/** Up to 4 days: https://docs.stripe.com/payments/ach-direct-debit#timing. */
const ach: Scheme = { type: 'us_bank_account', usualMs: days(4), longestMs: days(4) };
/** 4 days under an existing mandate, 7 under a new one: https://docs.stripe.com/payments/payment-methods/bacs-debit. */
const bacs: Scheme = { type: 'bacs_debit', usualMs: days(4), longestMs: days(7) };

/** "Typically three to four business days": https://docs.stripe.com/payments/sepa-debit#refunds. */
export const debitRefundMs = days(4);

const refunded = { first: 'pending', afterMs: debitRefundMs, ends: 'succeeded' } as const;
const debit = ({ type }: Scheme, charged: WhenCharged): TestMethod => ({ type, charged, refunded });
const succeeds = (scheme: Scheme, afterMs = scheme.usualMs) => debit(scheme, { kind: 'processing', afterMs });
const disputed = (scheme: Scheme): TestMethod => ({
  ...succeeds(scheme),
  disputed: { reason: 'debit_not_authorized', inquiry: false },
});
const fails = (scheme: Scheme, failure: LateFailure, afterMs = scheme.usualMs) =>
  debit(scheme, { kind: 'processing', afterMs, failure });
/**
 * A limit of the Stripe account, which needs no bank: https://docs.stripe.com/error-codes. Stripe documents the code but
 * not the status; this server answers 402, as to a declined card.
 */
const overLimit = (scheme: Scheme, code: string) => {
  const decline: Decline = {
    code,
    message: 'This payment would exceed the processing limit of the account.',
  };
  return debit(scheme, { kind: 'declines', decline });
};

/**
 * The bank's reason is the error's `code`; its `decline_code` says nothing. Seen in Stripe's test mode:
 * https://github.com/gburgyan/aat-stripe (workflows/slots).
 */
const failure = (code: string, message: string): LateFailure => ({
  code,
  declineCode: 'generic_decline',
  chargeCode: code,
  message,
});
const insufficientFunds = failure(
  'insufficient_funds',
  "The customer's account has insufficient funds to cover this payment.",
);
const debitNotAuthorized = failure(
  'debit_not_authorized',
  'The customer has notified their bank that this payment was unauthorized.',
);
/** Here only the charge tells the bank's reason. Seen in the same place (plans/sepa/direct-debit.yaml). */
const sepaFailure: LateFailure = {
  code: 'payment_intent_payment_attempt_failed',
  declineCode: 'generic_decline',
  chargeCode: 'incorrect_account_holder_name',
  message: 'The payment failed.',
};

/** By scenario; each country has all of them: https://docs.stripe.com/testing#sepa-direct-debit. */
const sepaScenarios: Record<string, TestMethod> = {
  success: succeeds(sepa),
  successDelayed: succeeds(sepa, sepa.longestMs),
  failed: fails(sepa, sepaFailure),
  failedDelayed: fails(sepa, sepaFailure, sepa.longestMs),
  disputed: disputed(sepa),
  insufficientFunds: fails(sepa, insufficientFunds),
  exceedsWeeklyVolumeLimit: overLimit(sepa, 'charge_exceeds_source_limit'),
  exceedsWeeklyTransactionLimit: overLimit(sepa, 'charge_exceeds_weekly_limit'),
};
const sepaCountries = 'at be ch de ee es fi fr gb gi hr ie li lt lu nl no pt se si sk'.split(' ');

/** https://docs.stripe.com/payments/ach-direct-debit/accept-a-payment#test-account-numbers */
const achScenarios: Record<string, TestMethod> = {
  success: succeeds(ach),
  accountClosed: fails(ach, failure('account_closed', "The customer's bank account has been closed.")),
  noAccount: fails(ach, failure('no_account', 'The bank account could not be located.')),
  insufficientFunds: fails(ach, insufficientFunds),
  debitNotAuthorized: fails(ach, debitNotAuthorized),
  invalidCurrency: fails(ach, failure('invalid_currency', 'The bank account cannot process this currency.')),
  dispute: disputed(ach),
  /** "Stays in processing indefinitely." */
  processing: debit(ach, { kind: 'processing' }),
  weeklyLimitExceeded: overLimit(ach, 'charge_exceeds_source_limit'),
};

/** https://docs.stripe.com/payments/bacs-debit/accept-a-payment#test-the-integration */
const bacsScenarios: Record<string, TestMethod> = {
  success: succeeds(bacs),
  successDelayed: succeeds(bacs, bacs.longestMs),
  /** "Accepted but then immediately fails." */
  debitNotAuthorized: fails(bacs, debitNotAuthorized, 0),
  debitNotAuthorizedDelayed: fails(bacs, debitNotAuthorized, bacs.longestMs),
  insufficientFunds: fails(bacs, insufficientFunds),
  insufficientFundsDelayed: fails(bacs, insufficientFunds, bacs.longestMs),
  dispute: disputed(bacs),
  mandateRefused: debit(bacs, { kind: 'mandateInactive' }),
  exceedsWeeklyLimit: overLimit(bacs, 'charge_exceeds_source_limit'),
  exceedsTransactionLimit: overLimit(bacs, 'charge_exceeds_transaction_limit'),
};

/** Stripe's own test methods for bank debits, each saved and under a mandate. */
export const bankDebits: Readonly<Record<string, TestMethod>> = {
  ...prefixed('pm_usBankAccount_', achScenarios),
  ...prefixed('pm_bacsDebit_', bacsScenarios),
  // Stripe has added `sepaDebit` to the names.
  ...Object.fromEntries(
    Object.entries(sepaScenarios).flatMap(([scenario, method]) =>
      sepaCountries.flatMap((country) => [
        [`pm_sepaDebit_${scenario}_${country}`, method],
        [`pm_${scenario}_${country}`, method],
      ]),
    ),
  ),
};

function prefixed(prefix: string, scenarios: Record<string, TestMethod>): Record<string, TestMethod> {
  return Object.fromEntries(Object.entries(scenarios).map(([name, method]) => [`${prefix}${name}`, method]));
}
