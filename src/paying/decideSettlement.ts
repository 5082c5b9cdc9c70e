import { maxAttempts, nextKey, type PaymentState, unknownSince } from '../invoice/invoice.ts';
import { advised } from '../invoice/invoiceChange.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import { decideOldKey, type NoPaymentFound } from './decideOldKey.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import type { ChargeOutcome, NotCalled, ProviderReversals } from './paymentProvider.ts';

/** What is known of one command after it has been worked on: the provider's word, or why it was not asked. */
export type CommandOutcome =
  | ChargeOutcome
  | NotCalled
  /** The provider has a payment that does not settle the invoice: a person decides. */
  | { kind: 'unclear'; message: string }
  | NoPaymentFound;

/** Whether the provider has said what became of a charge: it says the same to each delivery that sends the key. Pure. */
export function isWordOnKey({ kind }: CommandOutcome): boolean {
  return kind === 'succeeded' || kind === 'processing' || kind === 'declined';
}

/** What becomes of the invoice. */
export type Settlement =
  /** `reversals`: some of the money has gone back since, or may. */
  | { kind: 'paid'; paymentId: string; reversals?: ProviderReversals }
  | {
      kind: 'retry';
      why: 'declined' | 'transient' | 'unknown' | 'noTurn';
      /** ISO 8601. */
      at: string;
      reason: string;
      payment: PaymentState;
      attempts: number;
    }
  | { kind: 'declined'; reason: string }
  /** The payment is alive at the provider, and is followed until it ends. */
  | { kind: 'processing'; paymentId: string; state: string }
  /** `unknown`: it may have been charged, and has to be looked up. */
  | { kind: 'parked'; reason: string; unknown: boolean };

/** All in milliseconds. */
export interface SettlementPolicy {
  /** Wait after each soft decline until the next try; when they are used up the invoice is declined. */
  softDeclineRetryMs: readonly number[];
  /** How soon an unknown outcome is asked for again with the same key. */
  unknownBackoff: { base: number; cap: number };
  /** How soon after a failure that the provider remembers under the key a look-up can tell more. */
  searchLagMs: number;
  /** How long after a look-up that found no payment another one proves that there is none. */
  noneFoundMs: number;
  /** How soon a provider that certainly did nothing is tried again. */
  transientBackoff: { base: number; cap: number };
}

const day = 24 * 3600 * 1000;

export const defaultSettlementPolicy: SettlementPolicy = {
  softDeclineRetryMs: [1 * day, 3 * day, 7 * day],
  unknownBackoff: { base: 5_000, cap: 300_000 },
  // A payment can be searched for within a minute (https://docs.stripe.com/search#data-freshness).
  searchLagMs: 70_000,
  noneFoundMs: 3_600_000,
  transientBackoff: { base: 5_000, cap: 900_000 },
};

/**
 * Decides what an outcome means for the invoice at `now` (milliseconds). Pure.
 *
 * - Only a definite decline raises the key's number, because then a new charge is meant. After anything else the same key
 *   goes again, so that the provider answers with what it did.
 * - A transient failure charged nothing, so it does not count as an attempt: a long outage parks no good payment, not even
 *   one that outlives its key. Nor does an unknown outcome while the provider fails at everything: it is asked again with
 *   the same key, for as long as that may be sent.
 * - A key that is too old to be sent is looked up instead, until the provider answers (decideOldKey.ts).
 * - A call whose turn did not come in time is due at once: it waits for nothing but its turn.
 */
export function decideSettlement(
  command: PaymentCommand,
  outcome: CommandOutcome,
  policy: SettlementPolicy,
  now: number,
): Settlement {
  const { attempt, payment } = command;
  // An earlier call under the same key may have gone through, whatever this answer says.
  const mayBeCharged = payment.unknownSince !== undefined;
  switch (outcome.kind) {
    case 'succeeded':
      return { ...outcome, kind: 'paid' };
    case 'processing':
      return outcome;
    case 'declined':
      return decideDecline(payment, outcome, policy, now);
    case 'notCalled':
      return {
        kind: 'retry',
        why: 'noTurn',
        at: iso(now),
        reason: 'its turn to be called did not come in time, or payments were paused',
        payment,
        attempts: attempt - 1,
      };
    case 'heldBack':
    case 'transient': {
      const deferrals = payment.deferrals + 1;
      const wait = Math.max(
        exponentialBackoff(deferrals, policy.transientBackoff),
        outcome.retryAfterMs ?? 0,
      );
      return {
        kind: 'retry',
        why: 'transient',
        at: iso(now + wait),
        reason: outcome.kind === 'heldBack' ? outcome.message : `${outcome.code}: ${outcome.message}`,
        payment: { ...payment, deferrals },
        attempts: attempt - 1,
      };
    }
    case 'unknown':
      if (outcome.outage === true) {
        const deferrals = payment.deferrals + 1;
        return {
          kind: 'retry',
          why: 'unknown',
          at: iso(now + exponentialBackoff(deferrals, policy.transientBackoff)),
          reason: outcome.message,
          payment: { ...unknownSince(payment, iso(now)), deferrals },
          attempts: attempt - 1,
        };
      }
      if (attempt >= maxAttempts) {
        const reason = `the outcome is still unknown after ${attempt} attempts: ${outcome.message}`;
        return { kind: 'parked', reason: advised(reason, 'outcomeUnknown'), unknown: true };
      }
      return {
        kind: 'retry',
        why: 'unknown',
        at: iso(now + unknownWait(attempt, outcome, policy)),
        reason: outcome.message,
        payment: unknownSince(payment, iso(now)),
        attempts: attempt,
      };
    case 'unused':
    case 'noneFound': {
      const { at, ...decided } = decideOldKey(payment, outcome, policy, now);
      return { kind: 'retry', ...decided, at: iso(at), attempts: attempt - 1 };
    }
    case 'keyReused': {
      const reason = `idempotency key sent with other parameters: ${outcome.message}`;
      return { kind: 'parked', reason: advised(reason, 'mayBeCharged'), unknown: mayBeCharged };
    }
    case 'refused': {
      const reason = `${outcome.code}: ${outcome.message}`;
      const what = mayBeCharged ? 'mayBeCharged' : 'refused';
      return { kind: 'parked', reason: advised(reason, what), unknown: mayBeCharged };
    }
    case 'unclear':
      return { kind: 'parked', reason: outcome.message, unknown: true };
    case 'reversed':
      return { kind: 'parked', reason: advised(outcome.message, 'chargedAndGone'), unknown: false };
  }
}

/** What a definite decline means, whether it came at once or after days: another try under the next key, or the end. Pure. */
export function decideDecline(
  payment: PaymentState,
  {
    severity,
    code,
    message,
  }: Pick<Extract<ChargeOutcome, { kind: 'declined' }>, 'severity' | 'code' | 'message'>,
  { softDeclineRetryMs }: Pick<SettlementPolicy, 'softDeclineRetryMs'>,
  now: number,
): Extract<Settlement, { kind: 'retry' | 'declined' }> {
  const wait = softDeclineRetryMs[payment.declines];
  const reason = `${code}: ${message}`;
  if (severity === 'hard' || wait === undefined) return { kind: 'declined', reason };
  const next = nextKey(payment, { declines: payment.declines + 1 });
  return { kind: 'retry', why: 'declined', at: iso(now + wait), reason, payment: next, attempts: 0 };
}

/** Repeating the call only repeats a remembered failure, so nothing is gained before a look-up can know. */
function unknownWait(
  attempt: number,
  { remembered }: Extract<CommandOutcome, { kind: 'unknown' }>,
  { unknownBackoff, searchLagMs }: SettlementPolicy,
): number {
  const wait = exponentialBackoff(attempt, unknownBackoff);
  return remembered === true ? Math.max(wait, searchLagMs) : wait;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
