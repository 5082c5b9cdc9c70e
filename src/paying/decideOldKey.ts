import { known, type PaymentState, unusedKey } from '../invoice/invoice.ts';

/** What is known under a key that is too old to be sent: the provider was asked, and finds no payment. */
export type NoPaymentFound =
  /** No call under the key charged anything. */
  | { kind: 'unused' }
  /** A call under the key may have charged. */
  | { kind: 'noneFound' };

export interface OldKeyDecision {
  why: 'transient' | 'unknown';
  /** Milliseconds. */
  at: number;
  reason: string;
  payment: PaymentState;
}

/**
 * Decides at `now` (milliseconds) when the invoice is tried again, and under which key. Pure.
 *
 * If a call may have charged, one look-up that finds nothing proves nothing: the call may have been made a moment before,
 * and the search lags. Finding none again `noneFoundMs` later does: the key was too old to be sent ever since, and the list
 * of the customer's payments does not lag (https://docs.stripe.com/search#data-freshness). The key then starts over with the
 * same name and parameters, so a provider that still remembers it repeats its first answer.
 */
export function decideOldKey(
  payment: PaymentState,
  found: NoPaymentFound,
  { noneFoundMs }: { noneFoundMs: number },
  now: number,
): OldKeyDecision {
  const { noneFoundAt = new Date(now).toISOString() } = payment;
  const provenAt = Date.parse(noneFoundAt) + noneFoundMs;
  if (found.kind === 'unused')
    return startOver(
      'the key grew too old before it could be used; it is as good as new',
      unusedKey(payment),
    );
  if (now >= provenAt)
    return startOver(
      'the provider has found no payment twice, an hour apart: nothing was charged',
      keyStartedOver(payment),
    );
  return {
    why: 'unknown',
    at: provenAt,
    reason: 'the key is older than 23 h and the provider finds no payment; it is asked again in an hour',
    payment: { ...payment, noneFoundAt },
  };

  function startOver(reason: string, state: PaymentState): OldKeyDecision {
    return { why: 'transient', at: now, reason, payment: state };
  }
}

/**
 * The state with the age of the key at nothing. It goes on standing for the same charge, by the same method: the provider may
 * have been asked under it, and refuses a key that it remembers with other parameters.
 */
function keyStartedOver(payment: PaymentState): PaymentState {
  const { keyCreatedAt: _, ...state } = known(payment);
  return state;
}
