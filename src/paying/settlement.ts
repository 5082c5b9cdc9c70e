import { formatVersion } from '@payonce/jobs/documents';
import { exponentialBackoff } from '@payonce/leases/backoff';
import { advised } from '../invoice/advice.ts';
import type { FollowUps, InvoiceEnd } from '../invoice/followUps.ts';
import { maxAttempts, type PaymentState } from '../invoice/invoice.ts';
import { type InvoiceChange, ifClaimedBy, type Starting, startedAs } from '../invoice/invoiceChange.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { nextCheckAt } from '../invoice/nextCheck.ts';
import { known, nextKey, unknownSince } from '../invoice/paymentState.ts';
import { withReversals } from '../invoice/reversals.ts';
import type { Writes } from '../invoice/store/invoiceStore.ts';
import { newReversals, withProviderReversals } from './mergeReversals.ts';
import { decideOldKey, type NoPaymentFound } from './oldKey.ts';
import type { SettlementPolicy } from './payingPolicy.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import type { ChargeOutcome, NotCalled, ProviderReversals } from './paymentProvider.ts';

/** Outcome of one command after it has been worked on: the provider's word, or why it was not asked. */
export type CommandOutcome =
  | ChargeOutcome
  | NotCalled
  /** The provider has a payment that does not settle the invoice: a person decides. */
  | { kind: 'unclear'; message: string }
  | NoPaymentFound;

/**
 * True if the provider has said what became of a charge: it says the same to each delivery that sends the idempotency key.
 * Pure.
 */
export function isWordOnKey({ kind }: CommandOutcome): boolean {
  return kind === 'succeeded' || kind === 'processing' || kind === 'declined';
}

/** Decision on the invoice. */
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

/**
 * Decides what an outcome means for the invoice at `now` (milliseconds). Pure.
 *
 * - Only a definite decline raises the key's number, because then a new charge is meant. After anything else the same key
 *   goes again, so that the provider answers with what it did.
 * - A transient failure charged nothing, so it is no attempt: a long outage parks no good payment, not even one that outlives its
 *   key. Nor is an unknown outcome while the provider fails at everything: the same key goes again for as long as it may.
 * - A key that is too old to be sent is looked up instead, until the provider answers (`decideOldKey`).
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
    case 'blocked':
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
        reason: outcome.kind === 'blocked' ? outcome.message : `${outcome.code}: ${outcome.message}`,
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
        at: iso(now + exponentialBackoff(attempt, policy.unknownBackoff)),
        reason: outcome.message,
        payment: unknownSince(payment, iso(now)),
        attempts: attempt,
      };
    case 'unused':
    case 'noneFound':
      return { kind: 'retry', ...decideOldKey(payment, outcome, policy, now), attempts: attempt - 1 };
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

/** Decides on a definite decline, at once or after days: another try under the next idempotency key, or the end. Pure. */
export function decideDecline(
  payment: PaymentState,
  { severity, code, message }: Omit<Extract<ChargeOutcome, { kind: 'declined' }>, 'kind'>,
  { softDeclineRetryMs }: Pick<SettlementPolicy, 'softDeclineRetryMs'>,
  now: number,
): Extract<Settlement, { kind: 'retry' | 'declined' }> {
  const wait = softDeclineRetryMs[payment.declines];
  const reason = `${code}: ${message}`;
  if (severity === 'hard' || wait === undefined) return { kind: 'declined', reason };
  const next = nextKey(payment, { declines: payment.declines + 1 });
  return { kind: 'retry', why: 'declined', at: iso(now + wait), reason, payment: next, attempts: 0 };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** A command with what is to become of its invoice. */
export interface SettledCommand {
  command: PaymentCommand;
  settlement: Settlement;
  /**
   * The start that it speaks for. Absent if the provider has said what became of the key, as it would to any delivery. All
   * else is for the latest to write: it may be calling, with a payment method that an earlier one does not know.
   */
  start?: Starting;
}

interface Settling {
  batchId: string;
  shard: string;
  settlementId: string;
  /** Milliseconds. */
  now: number;
  by: string;
  followUps: FollowUps;
}

/** The content of one settling transaction: a patch for each invoice, and the messages of what follows. Pure. */
export function planSettlement(
  items: readonly SettledCommand[],
  { batchId, shard, settlementId, now, by, followUps }: Settling,
): Writes {
  const at = new Date(now).toISOString();
  const settled = items.map((item) => ({ ...item, ...effectOf(item.settlement, item.command, at) }));
  return {
    patches: settled.map(({ command, start, set, clear, entry }) => {
      const told = { at, by, batchId, settlement: settlementId, ...entry };
      const change = { set: { ...set, version: formatVersion }, clear, entry: told };
      return ifClaimedBy(batchId, command.invoiceId, change, start === undefined ? [] : startedAs(start));
    }),
    messages: followUps(
      settled.flatMap(({ command, ends }) => {
        const invoice = { ...command, keyNumber: command.payment.keyNumber };
        return ends.map((end) => ({ invoice, end }));
      }),
      { shard, occasion: settlementId, now },
    ),
  };
}

/** What a settlement makes of its invoice: the change, what the timeline says of it, and the ends to announce. */
interface Effect {
  set: { status: InvoiceStatus } & NonNullable<InvoiceChange['set']>;
  clear: ('claim' | 'actionableAt')[];
  entry: { what: string } & Record<string, string>;
  ends: InvoiceEnd[];
}

function effectOf(settlement: Settlement, { payment }: Pick<PaymentCommand, 'payment'>, at: string): Effect {
  const clear: Effect['clear'] = ['claim', 'actionableAt'];
  switch (settlement.kind) {
    case 'paid': {
      const { paymentId, reversals: seen } = settlement;
      const reversals = seen && withProviderReversals(undefined, seen);
      const gone = reversals && withReversals(reversals, Date.parse(at));
      const moved = reversals === undefined ? [] : newReversals(undefined, reversals, paymentId);
      return {
        set: { status: 'paid', payment: { ...known(payment), id: paymentId, paidAt: at }, ...gone?.set },
        clear,
        entry: { what: 'paid', paymentId },
        ends: [{ kind: 'paid', paymentId, paidAt: at }, ...moved],
      };
    }
    case 'retry': {
      const { why, reason, payment: next, attempts, at: actionableAt } = settlement;
      return {
        set: { status: 'pending', payment: next, attempts, actionableAt },
        clear: ['claim'],
        entry: { what: `retry: ${why}`, reason, nextAt: actionableAt },
        ends: [],
      };
    }
    case 'processing': {
      const { paymentId, state } = settlement;
      const inProgress = { id: paymentId, state, since: at, checks: 0 };
      const checkAt = nextCheckAt(0, Date.parse(at));
      return {
        set: { status: 'processing', checkAt, payment: { ...known(payment), inProgress } },
        clear,
        entry: { what: 'processing', paymentId, state },
        ends: [],
      };
    }
    case 'declined': {
      const { reason } = settlement;
      return {
        set: { status: 'declined', reason, declinedAt: at, payment: known(payment) },
        clear,
        entry: { what: 'declined', reason },
        ends: [settlement],
      };
    }
    case 'parked': {
      const { reason, unknown } = settlement;
      const state = unknown ? { payment: unknownSince(payment, at) } : {};
      return {
        set: { status: 'parked', reason, ...state },
        clear,
        entry: { what: 'parked', reason },
        ends: [settlement],
      };
    }
  }
}
