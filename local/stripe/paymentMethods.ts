import type { Incident } from './incident.ts';

/** Why a card is declined (https://docs.stripe.com/declines/codes). */
export interface Decline {
  code: string;
  /** Absent if `code` is specific enough. */
  declineCode?: string;
  message: string;
}

/** What a payment method does when it is charged. */
export type PaymentMethod =
  | { kind: 'succeeds' }
  | { kind: 'declines'; decline: Decline }
  /** Needs the customer: declined off-session, otherwise the intent `requires_action`. */
  | { kind: 'requiresAction' }
  /** Succeeds, but an incident hits some calls for an invoice. */
  | { kind: 'fails'; fault: Incident; calls: FailingCalls };

export type FailingCalls = 'first' | 'firstTwo' | 'all';

const yourCardWasDeclined = 'Your card was declined.';
const cardDeclined = (declineCode: string, message = yourCardWasDeclined): PaymentMethod => ({
  kind: 'declines',
  decline: { code: 'card_declined', declineCode, message },
});
const declined = (code: string, message: string): PaymentMethod => ({
  kind: 'declines',
  decline: { code, declineCode: code, message },
});

/** Stripe's own test methods (https://docs.stripe.com/testing), under their current and former names. */
const stripesOwn: Record<string, PaymentMethod> = {
  ...Object.fromEntries(
    [
      'visa',
      'visa_debit',
      'mastercard',
      'mastercard_debit',
      'mastercard_prepaid',
      'amex',
      'discover',
      'diners',
      'jcb',
      'unionpay',
    ].map((brand) => [`pm_card_${brand}`, { kind: 'succeeds' }] as const),
  ),
  ...underBothNames({
    chargeDeclined: cardDeclined('generic_decline'),
    chargeDeclinedInsufficientFunds: cardDeclined('insufficient_funds', 'Your card has insufficient funds.'),
    chargeDeclinedLostCard: cardDeclined('lost_card'),
    chargeDeclinedStolenCard: cardDeclined('stolen_card'),
    chargeDeclinedVelocityLimitExceeded: cardDeclined(
      'card_velocity_exceeded',
      'Your card was declined for making repeated attempts too frequently or exceeding its amount limit.',
    ),
    chargeDeclinedFraudulent: cardDeclined('fraudulent'),
  }),
  pm_card_chargeCustomerFail: cardDeclined('generic_decline'),
  pm_card_radarBlock: cardDeclined('fraudulent'),
  pm_card_chargeDeclinedExpiredCard: declined('expired_card', 'Your card has expired.'),
  pm_card_chargeDeclinedIncorrectCvc: declined('incorrect_cvc', "Your card's security code is incorrect."),
  pm_card_chargeDeclinedProcessingError: declined(
    'processing_error',
    'An error occurred while processing your card. Try again in a little bit.',
  ),
  pm_card_authenticationRequired: { kind: 'requiresAction' },
  pm_card_authenticationRequiredOnSetup: { kind: 'requiresAction' },
  pm_card_threeDSecure2Required: { kind: 'requiresAction' },
  pm_card_authenticationRequiredSetupForOffSession: { kind: 'succeeds' },
};

/** Failures that Stripe's test mode lacks, by the name between `pm_local_` and `Once` or `Twice`. */
const incidents: Record<string, Incident> = {
  timeoutBeforeCharge: 'timeout-before',
  timeoutAfterCharge: 'timeout-after',
  resetBeforeCharge: 'reset-before',
  resetAfterCharge: 'reset-after',
  serverError: '500',
  serverErrorAfterCharge: '500-after',
  rateLimit: '429',
};
const suffixes: Record<string, FailingCalls> = { '': 'all', Once: 'first', Twice: 'firstTwo' };

/** All payment methods by name. */
export const paymentMethods: Readonly<Record<string, PaymentMethod>> = {
  ...stripesOwn,
  ...Object.fromEntries(
    Object.entries(incidents).flatMap(([name, fault]) =>
      Object.entries(suffixes).map(
        ([suffix, calls]) => [`pm_local_${name}${suffix}`, { kind: 'fails', fault, calls }] as const,
      ),
    ),
  ),
};

export function paymentMethod(name: string): PaymentMethod | undefined {
  return Object.hasOwn(paymentMethods, name) ? paymentMethods[name] : undefined;
}

/** Stripe has added `visa` to some of the names and still accepts them without. */
function underBothNames(methods: Record<string, PaymentMethod>): Record<string, PaymentMethod> {
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, method]) => [
      [`pm_card_visa_${name}`, method],
      [`pm_card_${name}`, method],
    ]),
  );
}
