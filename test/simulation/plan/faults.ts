import type { Settings } from '../../../src/settings/settings.ts';
import type { OutsidePayment, Reversal } from '../world/provider.ts';

/** Services that the app calls outside its process. */
export const services = [
  'cosmos',
  'locks',
  'serviceBus',
  'storageQueue',
  'blobs',
  'provider',
  'webhook',
] as const;
export type Service = (typeof services)[number];

export const operatorActions = [
  'retry',
  'retryNotCharged',
  'retryMethod',
  'void',
  'refund',
  'moveDueDate',
  'redrive',
  'redriveDeadLetters',
  'release',
  'startRun',
  'cancelRun',
  'resumeRun',
  'pause',
  'resumePayments',
] as const;
/** More acts of people, in the schedules of plan/outside.ts: older plans draw from the list above. */
export const moreActions = [
  'followAdvice',
  'bulkRetry',
  'bulkVoid',
  'bulkRedrive',
  'bulkDiscard',
  'importAgain',
  'recount',
  'settleRefund',
] as const;
export type OperatorAction = (typeof operatorActions | typeof moreActions)[number];

/** Settings that a deployment may change while instances of the version before still run. */
export type Changes = Partial<
  Pick<Settings, 'batchSize' | 'shardGroups' | 'leaseSeconds' | 'claimStaleSeconds' | 'paymentTimeoutSeconds'>
>;

/** One call, counted from the beginning of its fault. */
export interface NthCall {
  /** The instance that makes it; absent: whichever does. */
  host?: number;
  service: Service | 'any';
  nth: number;
}

/**
 * One thing that goes wrong, or that a person does. A schedule is a list of them, so that a failing one can be shrunk. `at`
 * and all times are milliseconds, `at` from the beginning; `host` is the number of an instance. Its own
 * `number` stays the same when others are left out, and with it what chance makes of it.
 */
export type Fault = {
  readonly at: number;
  readonly number: number;
} /** The process dies at a call: before it is sent, or after it took effect and before its answer. Then it is started again. */ & (
  | ({ kind: 'crash'; when: 'before' | 'after'; downMs: number } & NthCall)
  /** One call is lost before or after its effect, refused, or made twice by the client. */
  | ({ kind: 'oneCall'; becomes: 'lost' | 'answerLost' | 'refused' | 'repeated' } & NthCall)
  /** The process stands still from a call on: that is sent afterwards, or answered then. `frozen`: so does its monotonic clock. */
  | ({ kind: 'hang'; when: 'before' | 'after'; ms: number; frozen: boolean } & NthCall)
  /** At a call the store of locks loses all leases, and the timers fire on another instance. */
  | ({ kind: 'leasesLost' } & NthCall)
  /** The process stands still. */
  | { kind: 'stall'; host: number; ms: number; frozen: boolean }
  /** SIGTERM. The host goes on for `graceMs` without telling the app, and kills it `killMs` after telling it. */
  | { kind: 'stop'; host: number; graceMs: number; killMs: number; downMs: number }
  /** The wall clock of a machine is set. */
  | { kind: 'clock'; host: number; byMs: number }
  /** A share of the calls fails: lost before or after its effect, refused, or made twice by the client. */
  | { kind: 'flaky'; service: Service; ms: number; share: number }
  | { kind: 'outage'; service: Service; ms: number; how: 'refused' | 'silent' | 'denied' }
  | { kind: 'slow'; service: Service; ms: number; factor: number }
  /** The provider takes fewer calls per second. */
  | { kind: 'rateCut'; ms: number; perSecond: number }
  /** A share of the messages comes twice, or late. */
  | { kind: 'disorder'; queue: 'serviceBus' | 'storageQueue'; ms: number; share: number; lateMs: number }
  | { kind: 'deployment'; changes: Changes; everyMs: number }
  /** A release to come sends a message, which only a process of that release can handle. */
  | { kind: 'newerMessage'; queue: 'serviceBus' | 'storageQueue' }
  | { kind: 'operator'; action: OperatorAction; host: number; invoice: number }
  /**
   * A person does something to this very invoice, over HTTP. So many answers are lost, and the same is asked for again under the
   * same key.
   */
  | { kind: 'caller'; action: OperatorAction; invoice: number; lost: number; everyMs: number }
  /** In the provider's own dashboard: a refund, or a dispute that the bank decides later. */
  | { kind: 'reversal'; what: Reversal; invoice: number }
  /** A person makes a refund in the provider's dashboard, because the one that was asked for here does not come. */
  | { kind: 'refundByHand'; invoice: number }
  /** Somebody else makes a payment in the account. `names`: it names the invoice. */
  | ({
      kind: 'payment';
      invoice: number;
      names: boolean;
      customer: 'same' | 'other';
      amount: 'same' | 'other';
    } & Pick<OutsidePayment, 'by' | 'ends' | 'afterMs'>)
  /** The search of the provider gives no answer. */
  | { kind: 'searchAway'; ms: number }
  /** A queue loses all that it has acknowledged, as after the failover of its account. */
  | { kind: 'queueLost' }
  /** The database is put back to what it was `backMs` ago, and people follow the procedure. */
  | { kind: 'restore'; backMs: number }
  /** A share of the events is not delivered to the webhook. */
  | { kind: 'eventsLost'; ms: number; share: number }
  /** A share of the reads shows what another instance has changed meanwhile as it was up to `lagMs` ago. */
  | { kind: 'stale'; ms: number; share: number; lagMs: number }
);

export type FaultKind = Fault['kind'];
/** Faults that wait for a call. */
export type AtCall = Extract<Fault, NthCall>;

/** A fault in words, for people. */
export function describe(fault: Fault): string {
  const { at, kind, number: _, ...rest } = fault;
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${(at / 1000).toFixed(3).padStart(9)} s  ${kind} ${details.join(' ')}`;
}
