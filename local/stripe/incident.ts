/**
 * What befalls one call on its way. Before: nothing is carried out, and the idempotency key remembers
 * nothing. After: the charge is made, and the key remembers the result.
 */
export type Incident =
  /** Never answered. */
  | 'timeout-before'
  | 'timeout-after'
  /** The connection is reset instead of an answer. */
  | 'reset-before'
  | 'reset-after'
  /** Fails before it is carried out. */
  | '500'
  /** Charges, then fails; the 500 is what the key remembers, as Stripe's keys do. */
  | '500-after'
  | '429'
  /** The card is declined, whichever it is. */
  | 'decline';
