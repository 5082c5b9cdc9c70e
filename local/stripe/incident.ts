/**
 * A failure of one call. "Before": nothing executes, and the idempotency key keeps nothing. "After": the
 * charge is made, and the key keeps the result.
 */
export type Incident =
  /** No response. */
  | 'timeout-before'
  | 'timeout-after'
  /** A connection reset instead of a response. */
  | 'reset-before'
  | 'reset-after'
  /** Fails before it executes. */
  | '500'
  /** Charges, then fails. The key keeps the 500, as at Stripe. */
  | '500-after'
  /** Refuses the call as a bad request. */
  | '400'
  | '429'
  /** Declines any payment method. */
  | 'decline'
  /** The refund is accepted and fails later. */
  | 'refund-fails';
