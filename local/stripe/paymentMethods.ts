/** What goes wrong with one call, and when: before or after the charge is made. */
export type CallFault =
  | 'timeout-before'
  | 'timeout-after'
  | 'reset-before'
  | 'reset-after'
  /** 500 before the call began: the key remembers nothing. */
  | '500'
  /** 500 after the charge: the key remembers the 500, as Stripe's does. */
  | '500-after'
  | '429';

/** What a payment method does. */
export type Behaviour =
  | { kind: 'succeeds' }
  | { kind: 'declines'; code: string; declineCode: string; message: string }
  | { kind: 'requiresAction' }
  | { kind: 'fails'; fault: CallFault; calls: 'first' | 'all' };

function declines(code: string, declineCode: string, message: string): Behaviour {
  return { kind: 'declines', code, declineCode, message };
}

/**
 * The payment methods that exist. `pm_card_…` are Stripe's own (https://docs.stripe.com/testing); `pm_local_…` are for
 * what Stripe's test mode cannot do. `…Once` fails the first call for an invoice only.
 */
export const paymentMethods: Readonly<Record<string, Behaviour>> = {
  pm_card_visa: { kind: 'succeeds' },
  pm_card_visa_debit: { kind: 'succeeds' },
  pm_card_mastercard: { kind: 'succeeds' },
  pm_card_amex: { kind: 'succeeds' },
  pm_card_jcb: { kind: 'succeeds' },
  pm_card_visa_chargeDeclined: declines('card_declined', 'generic_decline', 'Your card was declined.'),
  pm_card_visa_chargeDeclinedInsufficientFunds: declines(
    'card_declined',
    'insufficient_funds',
    'Your card has insufficient funds.',
  ),
  pm_card_visa_chargeDeclinedLostCard: declines('card_declined', 'lost_card', 'Your card was declined.'),
  pm_card_visa_chargeDeclinedStolenCard: declines('card_declined', 'stolen_card', 'Your card was declined.'),
  pm_card_visa_chargeDeclinedVelocityLimitExceeded: declines(
    'card_declined',
    'card_velocity_exceeded',
    'Your card was declined for making repeated attempts too frequently.',
  ),
  pm_card_chargeDeclined: declines('card_declined', 'generic_decline', 'Your card was declined.'),
  pm_card_chargeDeclinedInsufficientFunds: declines(
    'card_declined',
    'insufficient_funds',
    'Your card has insufficient funds.',
  ),
  pm_card_chargeDeclinedFraudulent: declines('card_declined', 'fraudulent', 'Your card was declined.'),
  pm_card_chargeDeclinedExpiredCard: declines('expired_card', 'expired_card', 'Your card has expired.'),
  pm_card_chargeDeclinedProcessingError: declines(
    'processing_error',
    'processing_error',
    'An error occurred while processing your card.',
  ),
  pm_card_authenticationRequired: { kind: 'requiresAction' },
  pm_local_timeoutBeforeCharge: { kind: 'fails', fault: 'timeout-before', calls: 'all' },
  pm_local_timeoutBeforeChargeOnce: { kind: 'fails', fault: 'timeout-before', calls: 'first' },
  pm_local_timeoutAfterChargeOnce: { kind: 'fails', fault: 'timeout-after', calls: 'first' },
  pm_local_resetBeforeChargeOnce: { kind: 'fails', fault: 'reset-before', calls: 'first' },
  pm_local_resetAfterChargeOnce: { kind: 'fails', fault: 'reset-after', calls: 'first' },
  pm_local_serverErrorOnce: { kind: 'fails', fault: '500', calls: 'first' },
  pm_local_serverErrorAfterCharge: { kind: 'fails', fault: '500-after', calls: 'first' },
  pm_local_rateLimitOnce: { kind: 'fails', fault: '429', calls: 'first' },
};
