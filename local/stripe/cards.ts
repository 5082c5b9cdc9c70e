import { days } from './days.ts';
import type { TestMethod } from './testMethod.ts';

const yourCardWasDeclined = 'Your card was declined.';
const succeeds: TestMethod = { type: 'card', charged: { kind: 'succeeds' } };
const requiresAction: TestMethod = { type: 'card', charged: { kind: 'requiresAction' } };
const declined = (code: string, message: string, declineCode = code): TestMethod => ({
  type: 'card',
  charged: { kind: 'declines', decline: { code, declineCode, message } },
});
const cardDeclined = (declineCode: string, message = yourCardWasDeclined): TestMethod =>
  declined('card_declined', message, declineCode);
const disputed = (reason: string, inquiry = false): TestMethod => ({
  ...succeeds,
  disputed: { reason, inquiry },
});

/** Stripe's own test cards (https://docs.stripe.com/testing), under their current and former names. */
export const cards: Readonly<Record<string, TestMethod>> = {
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
    ].map((brand) => [`pm_card_${brand}`, succeeds] as const),
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
  pm_card_authenticationRequired: requiresAction,
  pm_card_authenticationRequiredOnSetup: requiresAction,
  pm_card_threeDSecure2Required: requiresAction,
  pm_card_authenticationRequiredSetupForOffSession: succeeds,
  // https://docs.stripe.com/testing#disputes
  pm_card_createDispute: disputed('fraudulent'),
  pm_card_createDisputeProductNotReceived: disputed('product_not_received'),
  pm_card_createDisputeInquiry: disputed('fraudulent', true),
  // https://docs.stripe.com/testing#refunds. Stripe does not say how long "some time later" is.
  pm_card_pendingRefund: { ...succeeds, refunded: { first: 'pending', afterMs: days(1), ends: 'succeeded' } },
  pm_card_refundFail: { ...succeeds, refunded: { first: 'succeeded', afterMs: days(1), ends: 'failed' } },
};

/** Stripe has added `visa` to some of the names and still accepts them without. */
function underBothNames(methods: Record<string, TestMethod>): Record<string, TestMethod> {
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, method]) => [
      [`pm_card_visa_${name}`, method],
      [`pm_card_${name}`, method],
    ]),
  );
}
