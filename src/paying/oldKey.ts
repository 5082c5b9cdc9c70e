import type { PaymentState } from '../invoice/invoice.ts';
import { known } from '../invoice/paymentState.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import type { FoundPayment, NotCalled } from './paymentProvider.ts';
import type { CommandOutcome } from './settlement.ts';

/* An idempotency key that is too old to be sent: its payment is looked up, and that decides what becomes of the invoice. */

/** The outcome of a command under such a key, by what the look-up found. Pure. */
export function outcomeOfOldKey(command: PaymentCommand, found: FoundPayment | NotCalled): CommandOutcome {
  switch (found.kind) {
    case 'notFound':
      if (command.payment.unknownSince === undefined) return { kind: 'unused' };
      return found.unlisted === undefined ? { kind: 'noneFound' } : withoutList(command, found.unlisted);
    case 'notCalled':
    case 'blocked':
      return found;
    case 'unknown':
      return { kind: 'transient', code: 'lookup_failed', message: found.message };
    case 'found':
    case 'processing':
    case 'reversed':
    case 'differs':
      return asOutcome(found);
  }
}

/** Nothing can be charged, and nothing proves that nothing was: a person decides. */
function withoutList(
  { customerId }: PaymentCommand,
  why: NonNullable<Extract<FoundPayment, { kind: 'notFound' }>['unlisted']>,
): CommandOutcome {
  const what = {
    deleted: `customer ${customerId} was deleted at the provider`,
    unknown: `the provider does not know customer ${customerId}`,
    tooMany: `customer ${customerId} has too many payments at the provider to look for one`,
  }[why];
  const message = `${what}: void the invoice, or retry it with notCharged`;
  return { kind: 'unclear', message };
}

/** Converts a payment that was found into the outcome of the command. */
export function asOutcome(
  found: Exclude<FoundPayment | NotCalled, { kind: 'notFound' | 'notCalled' | 'blocked' | 'unknown' }>,
): CommandOutcome {
  switch (found.kind) {
    case 'found':
      return { ...found, kind: 'succeeded' };
    case 'differs':
      return { kind: 'unclear', message: found.message };
    case 'processing':
    case 'reversed':
      return found;
  }
}

/** Outcome under a key that is too old to be sent: the provider was asked, and finds no payment. */
export type NoPaymentFound =
  /** No call under the key charged anything. */
  | { kind: 'unused' }
  /** A call under the key may have charged. */
  | { kind: 'noneFound' };

interface OldKeyDecision {
  why: 'transient' | 'unknown';
  /** ISO 8601. */
  at: string;
  reason: string;
  payment: PaymentState;
}

/**
 * Decides at `now` (milliseconds) when the invoice is tried again, and under which key. Pure.
 *
 * If a call may have charged, one look-up that finds nothing proves nothing: the call may have been made a moment before,
 * and the search lags. Finding none again `noneFoundMs` later does: the key was too old to be sent ever since, and the list
 * of the customer's payments does not lag (https://docs.stripe.com/search#data-freshness). The key then starts over.
 */
export function decideOldKey(
  payment: PaymentState,
  found: NoPaymentFound,
  { noneFoundMs }: { noneFoundMs: number },
  now: number,
): OldKeyDecision {
  const { noneFoundAt = new Date(now).toISOString() } = payment;
  const provenAt = Date.parse(noneFoundAt) + noneFoundMs;
  if (found.kind === 'unused') return startOver('the key grew too old before it charged anything');
  if (now >= provenAt)
    return startOver('the provider has found no payment twice, an hour apart: nothing was charged');
  return {
    why: 'unknown',
    at: new Date(provenAt).toISOString(),
    reason: 'the key is older than 23 h and the provider finds no payment; it is asked again in an hour',
    payment: { ...payment, noneFoundAt },
  };

  function startOver(reason: string): OldKeyDecision {
    return { why: 'transient', at: new Date(now).toISOString(), reason, payment: keyStartedOver(payment) };
  }
}

/**
 * The state with the age of the key at nothing. It goes on standing for the same charge, by the same method: a provider that
 * still remembers the key, if only a refusal under it, repeats its answer, and refuses the key with other parameters.
 */
function keyStartedOver(payment: PaymentState): PaymentState {
  const { keyCreatedAt: _, ...state } = known(payment);
  return state;
}
