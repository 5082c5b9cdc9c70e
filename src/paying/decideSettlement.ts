import type { PatchOperation } from '@azure/cosmos';
import { maxAttempts } from '../claiming/decideClaim.ts';
import { known, type PaymentState, unknownSince } from '../invoice/invoice.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import type { ChargeOutcome } from './paymentProvider.ts';

/** What is known of one command after it has been worked on: the provider's word, or why it was not asked. */
export type CommandOutcome =
  | ChargeOutcome
  /** The key is too old to be sent again, and the provider knows of no payment or cannot say: a person decides. */
  | { kind: 'unclear'; message: string }
  /** The key grew too old to be sent, but every call under it surely charged nothing, and the provider finds no payment. */
  | { kind: 'unused' };

/** What becomes of the invoice. */
export type Settlement =
  | { kind: 'paid'; paymentId: string }
  | {
      kind: 'retry';
      why: 'declined' | 'transient' | 'unknown';
      at: string;
      reason: string;
      payment: PaymentState;
      attempts: number;
    }
  | { kind: 'declined'; reason: string }
  /** `unknown`: it may have been charged, and has to be looked up. */
  | { kind: 'parked'; reason: string; unknown: boolean };

/** A command with what is to become of its invoice. */
export interface Settled {
  command: PaymentCommand;
  settlement: Settlement;
}

export interface SettlementPolicy {
  /** Milliseconds after each soft decline until the next try; when they are used up the invoice is declined. */
  softDeclineRetryMs: readonly number[];
  /** Milliseconds: how soon an unknown outcome is asked for again with the same key. */
  unknownBackoff: { base: number; cap: number };
  /** Milliseconds: how soon after a failure that the provider remembers under the key a look-up can tell more. */
  searchLagMs: number;
  /** Milliseconds: how soon a provider that surely did nothing is tried again. */
  transientBackoff: { base: number; cap: number };
}

const day = 24 * 3600 * 1000;

export const defaultSettlementPolicy: SettlementPolicy = {
  softDeclineRetryMs: [1 * day, 3 * day, 7 * day],
  unknownBackoff: { base: 5_000, cap: 300_000 },
  // A payment can be searched for within a minute (https://docs.stripe.com/search#data-freshness).
  searchLagMs: 70_000,
  transientBackoff: { base: 5_000, cap: 900_000 },
};

/**
 * Decides what an outcome means for the invoice at `now` (milliseconds). Pure.
 *
 * - Only a definite decline raises the key's number: then a new charge is meant. After anything else the same key goes
 *   again, so that the provider answers with what it did.
 * - A transient failure surely charged nothing, so it does not count as an attempt: a long outage parks no good payment,
 *   not even one that its key does not outlive.
 */
export function decideSettlement(
  command: PaymentCommand,
  outcome: CommandOutcome,
  policy: SettlementPolicy,
  now: number,
): Settlement {
  const { attempt, payment } = command;
  // An earlier call under the same key may have gone through, whatever is said of this one.
  const mayBeCharged = payment.unknownSince !== undefined;
  switch (outcome.kind) {
    case 'succeeded':
      return { kind: 'paid', paymentId: outcome.paymentId };
    case 'declined': {
      const wait = policy.softDeclineRetryMs[payment.declines];
      const reason = `${outcome.code}: ${outcome.message}`;
      if (outcome.severity === 'hard' || wait === undefined) return { kind: 'declined', reason };
      const next: PaymentState = {
        keyNumber: payment.keyNumber + 1,
        declines: payment.declines + 1,
        deferrals: 0,
      };
      return { kind: 'retry', why: 'declined', at: iso(now + wait), reason, payment: next, attempts: 0 };
    }
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
        reason: `${outcome.code}: ${outcome.message}`,
        payment: { ...payment, deferrals },
        attempts: attempt - 1,
      };
    }
    case 'unknown':
      if (attempt >= maxAttempts) {
        const reason = `the outcome is still unknown after ${attempt} attempts: ${outcome.message}`;
        return { kind: 'parked', reason, unknown: true };
      }
      return {
        kind: 'retry',
        why: 'unknown',
        at: iso(now + unknownWait(attempt, outcome, policy)),
        reason: outcome.message,
        payment: unknownSince(payment, iso(now)),
        attempts: attempt,
      };
    case 'unused': {
      const { keyNumber, declines, deferrals } = payment;
      return {
        kind: 'retry',
        why: 'transient',
        at: iso(now),
        reason: 'the key grew too old before it could be used; it is as good as new',
        payment: { keyNumber, declines, deferrals },
        attempts: attempt - 1,
      };
    }
    case 'keyReused':
      return {
        kind: 'parked',
        reason: `idempotency key sent with other parameters: ${outcome.message}`,
        unknown: mayBeCharged,
      };
    case 'refused':
      return { kind: 'parked', reason: `${outcome.code}: ${outcome.message}`, unknown: mayBeCharged };
    case 'unclear':
      return { kind: 'parked', reason: outcome.message, unknown: true };
  }
}

/** Asking again brings a remembered failure again, so there is nothing to be had before the look-up can know. */
function unknownWait(
  attempt: number,
  { remembered }: Extract<CommandOutcome, { kind: 'unknown' }>,
  { unknownBackoff, searchLagMs }: SettlementPolicy,
): number {
  const wait = exponentialBackoff(attempt, unknownBackoff);
  return remembered === true ? Math.max(wait, searchLagMs) : wait;
}

/** The writes that a settlement asks for, apart from the timeline. */
export function settlementPatches(
  settlement: Settlement,
  { payment }: PaymentCommand,
  at: string,
): PatchOperation[] {
  const unclaim: PatchOperation[] = [{ op: 'remove', path: '/claim' }];
  const rest: PatchOperation[] = [...unclaim, { op: 'remove', path: '/actionableAt' }];
  switch (settlement.kind) {
    case 'paid':
      return [
        { op: 'set', path: '/status', value: 'paid' },
        { op: 'set', path: '/payment', value: { ...known(payment), id: settlement.paymentId, paidAt: at } },
        ...rest,
      ];
    case 'retry':
      return [
        { op: 'set', path: '/status', value: 'pending' },
        { op: 'set', path: '/payment', value: settlement.payment },
        { op: 'set', path: '/attempts', value: settlement.attempts },
        { op: 'set', path: '/actionableAt', value: settlement.at },
        ...unclaim,
      ];
    case 'declined':
      return [
        { op: 'set', path: '/status', value: 'declined' },
        { op: 'set', path: '/reason', value: settlement.reason },
        { op: 'set', path: '/payment', value: known(payment) },
        ...rest,
      ];
    case 'parked':
      return [
        { op: 'set', path: '/status', value: 'parked' },
        { op: 'set', path: '/reason', value: settlement.reason },
        ...(settlement.unknown
          ? [{ op: 'set' as const, path: '/payment', value: unknownSince(payment, at) }]
          : []),
        ...rest,
      ];
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
