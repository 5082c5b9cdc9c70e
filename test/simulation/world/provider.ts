/**
 * A payment provider with the behaviour of Stripe that the app relies on: a key repeats its first answer for a day, the
 * search lags and the list of a customer does not, too many calls are refused, some payments take days, and what happens to
 * a payment later is told by events.
 */
import { foundAmong } from '../../../src/paying/foundPayment.ts';
import type {
  CancelOutcome,
  ChargeOutcome,
  ChargeRequest,
  DefaultMethod,
  EventHint,
  EventPage,
  EventQuery,
  FoundPayment,
  ProviderPayment,
  RateLimited,
  RefundOutcome,
  RefundRequest,
  RetrievedPayment,
  SoughtPayment,
} from '../../../src/paying/paymentProvider.ts';
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { Timeline } from '../engine/machine.ts';
import {
  type Content,
  holdsMoney,
  isGoneOrGoing,
  isTouched,
  type LedgerEvent,
  type LedgerPayment,
  type LedgerRefund,
  type Maker,
  reversalsOfPayment,
} from './ledger.ts';

/** Fate of one charge. */
export type ChargeFate =
  | { kind: 'ok' }
  | { kind: 'declined'; severity: 'soft' | 'hard' }
  /**
   * Ends after `afterMs`, one way or the other. `cancels`: it can still be canceled before. `confirmedAfterMs`: it fails, and
   * somebody with its secret confirms it once more so much later, unless it was canceled.
   */
  | {
      kind: 'slow';
      afterMs: number;
      ends: 'succeeded' | 'failed';
      cancels?: true;
      confirmedAfterMs?: number;
    }
  /** Waits for the customer; canceling it succeeds, or it goes on. */
  | { kind: 'action'; cancels: boolean }
  | { kind: 'refused' }
  /** The provider answers with a failure, and remembers it under the key. `moved`: the charge was made all the same. */
  | { kind: 'remembered'; moved: boolean };

const hour = 3_600_000;
/**
 * Time that an idempotency key is remembered (ms): a day at least
 * (https://docs.stripe.com/api/idempotent_requests).
 */
const keyLifeMs = 24 * hour;
const pageSize = 20;

/** Money that goes back in the provider's own dashboard, or by the bank. */
export type Reversal =
  | 'refund'
  | 'dispute'
  | 'partial refund'
  | 'partial dispute'
  /** The bank asks, and takes no money. */
  | 'inquiry'
  /** It succeeds, and fails days later: the customer's account is closed. */
  | 'refund that fails'
  /** It is canceled before it is done. */
  | 'canceled refund';

/** A payment that somebody else makes in the same account. */
export interface OutsidePayment extends Content {
  by: Exclude<Maker, 'app'>;
  /** Absent: it names no invoice. */
  invoiceId?: string;
  /** `waits`: for a customer, who confirms it after `afterMs`. `bounces`: it is in progress until then, and fails. */
  ends: 'succeeded' | 'slow' | 'bounces' | 'fails' | 'waits';
  afterMs: number;
}

interface Key {
  at: number;
  params: string;
  /** Until then the first call is at work. */
  busyUntil: number;
  paymentId?: string;
  answer: ChargeOutcome;
}

export interface ProviderWatch {
  /** A charge under a key that the provider does not know, before it is made. `others`: payments of the same invoice. */
  newCharge(request: ChargeRequest, others: readonly LedgerPayment[]): void;
  /** A key that stands for another charge. */
  otherParameters(request: ChargeRequest): void;
  refunded(request: RefundRequest, payment: LedgerPayment): void;
  /** The app cancels a payment that it did not make. */
  canceled?(payment: LedgerPayment): void;
  /** There is a new event. */
  told(event: LedgerEvent): void;
}

export interface ProviderParts {
  timeline: Timeline;
  random: SeededRandom;
  /** The fate of the next new charge of an invoice. */
  fateOf: (invoiceId: string, charge: number) => ChargeFate;
  watch: ProviderWatch;
  /** Calls per second that are taken now. */
  rate: () => number;
  /** Lag of the search now (ms). */
  searchLagMs: () => number;
  /** True if the search gives no answer now, while everything else does. */
  searchAway?: () => boolean;
  /** Chance in what old plans know nothing of. Absent: refunds that have succeeded do not fail, and none is canceled. */
  more?: SeededRandom | undefined;
  /** True if a call is within the limit. Default: `rate` calls in each second of its own clock. */
  takes?: (() => boolean) | undefined;
}

export type Provider = ReturnType<typeof createProvider>;

export function createProvider({
  timeline,
  random,
  fateOf,
  watch,
  rate,
  searchLagMs,
  searchAway = () => false,
  more,
  ...given
}: ProviderParts) {
  const payments = new Map<string, LedgerPayment>();
  const byInvoice = new Map<string, LedgerPayment[]>();
  const keys = new Map<string, Key>();
  const refundKeys = new Map<string, { at: number; answer: RefundOutcome }>();
  const events: LedgerEvent[] = [];
  let second = 0;
  let inSecond = 0;
  let count = 0;

  const { takes = withinSecond } = given;

  function withinSecond(): boolean {
    const now = Math.floor(timeline.now / 1000);
    if (now !== second) [second, inSecond] = [now, 0];
    return ++inSecond <= rate();
  }

  function limited(): RateLimited | undefined {
    if (takes()) return undefined;
    return { kind: 'rateLimited', overRate: true, message: 'too many requests' };
  }

  function paymentsOf(invoiceId: string): readonly LedgerPayment[] {
    return byInvoice.get(invoiceId) ?? [];
  }

  function tell({ id: paymentId, invoiceId }: LedgerPayment, hint: EventHint): void {
    // An event of a payment that names no invoice says nothing to anybody, but for a refund or dispute of it.
    if (invoiceId === undefined && hint !== 'reversed') return;
    const event = { eventId: `evt-${events.length}`, at: timeline.now, hint, paymentId, invoiceId };
    events.push(event);
    watch.told(event);
  }

  function later(ms: number, run: () => void): void {
    timeline.events.add(timeline.now + Math.ceil(ms), () => {
      timeline.running = undefined;
      run();
    });
  }

  function replay({ answer, paymentId, busyUntil }: Key): ChargeOutcome {
    if (timeline.now < busyUntil)
      return { kind: 'unknown', message: '409: a call with this key is in flight' };
    if (answer.kind === 'unknown') return { ...answer, remembered: true };
    const payment = payments.get(paymentId ?? '');
    if (answer.kind !== 'succeeded' || payment === undefined || !isTouched(payment)) return answer;
    return holdsMoney(payment)
      ? { ...answer, reversals: reversalsOfPayment(payment) }
      : { kind: 'reversed', message: `payment ${payment.id} was charged, and all of it has gone back` };
  }

  /** A payment as it shows itself to a deployment. */
  function shownTo(payment: LedgerPayment, asking: string | undefined): ProviderPayment {
    const { id: paymentId, invoiceId, customerId, amountMinor, currency, deployment, progress } = payment;
    return {
      kind: 'payment',
      paymentId,
      ...(invoiceId === undefined ? {} : { invoiceId }),
      ...(deployment === undefined || asking === undefined
        ? {}
        : { madeBy: deployment === asking ? ('us' as const) : ('others' as const) }),
      customerId,
      amountMinor,
      currency,
      progress,
      reversals: reversalsOfPayment(payment),
    };
  }

  type Making = Content & Pick<LedgerPayment, 'by' | 'invoiceId' | 'deployment' | 'key'>;

  function makePayment(request: ChargeRequest, progress: LedgerPayment['progress']): LedgerPayment {
    const { invoiceId, customerId, amountMinor, currency, deployment, idempotencyKey: key } = request;
    return add({ by: 'app', invoiceId, customerId, amountMinor, currency, deployment, key }, progress);
  }

  function add(making: Making, progress: LedgerPayment['progress']): LedgerPayment {
    const { invoiceId } = making;
    const payment: LedgerPayment = {
      ...making,
      id: `pi-${count++}`,
      createdAt: timeline.now,
      searchableAt: timeline.now + searchLagMs(),
      progress,
      refunds: [],
      disputes: [],
    };
    payments.set(payment.id, payment);
    if (invoiceId !== undefined) byInvoice.set(invoiceId, [...paymentsOf(invoiceId), payment]);
    if (progress.kind === 'succeeded') tell(payment, 'succeeded');
    return payment;
  }

  function carryOut(request: ChargeRequest): { answer: ChargeOutcome; paymentId?: string } {
    const made = paymentsOf(request.invoiceId).filter(({ by }) => by === 'app').length;
    const fate = isUnknown(request.customerId) ? noSuchCustomer : fateOf(request.invoiceId, made);
    const declined = (severity: 'soft' | 'hard', code: string): ChargeOutcome => ({
      kind: 'declined',
      severity,
      code,
      message: code,
    });
    switch (fate.kind) {
      case 'ok': {
        const { id: paymentId } = makePayment(request, { kind: 'succeeded' });
        return { answer: { kind: 'succeeded', paymentId }, paymentId };
      }
      case 'declined': {
        const { severity } = fate;
        const code = severity === 'hard' ? 'expired_card' : 'insufficient_funds';
        const { id: paymentId } = makePayment(request, { kind: 'failed', severity, code, message: code });
        return { answer: declined(severity, code), paymentId };
      }
      case 'slow': {
        const payment = makePayment(request, { kind: 'alive', state: 'processing' });
        later(fate.afterMs, () => {
          if (payment.progress.kind !== 'alive') return;
          payment.progress =
            fate.ends === 'succeeded'
              ? { kind: 'succeeded' }
              : { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'returned' };
          tell(payment, fate.ends);
          const { confirmedAfterMs } = fate;
          if (payment.progress.kind === 'failed' && confirmedAfterMs !== undefined)
            later(confirmedAfterMs, () => {
              if (payment.progress.kind !== 'failed') return;
              payment.confirmedAgainAt = timeline.now;
              succeed(payment);
            });
        });
        payment.cancels = fate.cancels;
        const { id: paymentId } = payment;
        return { answer: { kind: 'processing', paymentId, state: 'processing' }, paymentId };
      }
      case 'action': {
        // The adapter cancels such a payment at once; if that fails, it is alive and waits for the customer.
        if (fate.cancels) {
          const { id: paymentId } = makePayment(request, { kind: 'canceled' });
          return { answer: declined('hard', 'authentication_required'), paymentId };
        }
        const state = 'requires_action';
        const { id: paymentId } = makePayment(request, { kind: 'alive', state, waitsForCustomer: true });
        return { answer: { kind: 'processing', paymentId, state }, paymentId };
      }
      case 'refused':
        return { answer: { kind: 'refused', code: 'resource_missing', message: 'no such payment method' } };
      case 'remembered': {
        const answer: ChargeOutcome = { kind: 'unknown', message: '500' };
        if (!fate.moved) return { answer };
        return { answer, paymentId: makePayment(request, { kind: 'succeeded' }).id };
      }
    }
  }

  return {
    payments,
    paymentsOf,
    events,
    /** Everything about an invoice that nobody asks about any more. */
    forget(invoiceId: string): void {
      for (const { id, key } of paymentsOf(invoiceId)) {
        payments.delete(id);
        keys.delete(key);
      }
      byInvoice.delete(invoiceId);
      events.length = 0;
    },
    charge(request: ChargeRequest): ChargeOutcome | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      const { idempotencyKey, ...params } = request;
      const known = keys.get(idempotencyKey);
      const asText = JSON.stringify(params);
      if (known !== undefined && timeline.now - known.at < keyLifeMs) {
        if (known.params === asText) return replay(known);
        watch.otherParameters(request);
        return { kind: 'keyReused', message: `${idempotencyKey} was sent with other parameters` };
      }
      watch.newCharge(request, paymentsOf(request.invoiceId));
      const made = carryOut(request);
      const busyUntil = timeline.now + random.between(50, 800);
      keys.set(idempotencyKey, { at: timeline.now, params: asText, busyUntil, ...made });
      return made.answer;
    },

    find(sought: SoughtPayment): FoundPayment | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      const { customerId, since, until } = sought;
      const from = since === undefined ? undefined : Date.parse(since) - hour;
      const to = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until) + hour;
      const isListed = ({ createdAt, customerId: of }: LedgerPayment) =>
        from !== undefined && createdAt >= from && createdAt <= to && of === customerId;
      const away = searchAway();
      const isUnlisted = from !== undefined && isUnknown(customerId);
      if (away && from === undefined) return { kind: 'unknown', message: 'the search gives no answer' };
      const seen = paymentsOf(sought.invoiceId).filter(
        (payment) =>
          ((!away && payment.searchableAt <= timeline.now) || (!isUnlisted && isListed(payment))) &&
          (payment.progress.kind === 'succeeded' || payment.progress.kind === 'alive'),
      );
      const found = foundAmong(
        seen.map((payment) => shownTo(payment, sought.deployment)),
        sought,
      );
      return found.kind === 'notFound' && isUnlisted ? { ...found, unlisted: 'unknown' } : found;
    },

    retrieve(paymentId: string, deployment?: string): RetrievedPayment | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      const payment = payments.get(paymentId);
      return payment === undefined ? { kind: 'notFound' } : shownTo(payment, deployment);
    },

    cancel(paymentId: string): CancelOutcome | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      const payment = payments.get(paymentId);
      if (payment?.progress.kind === 'canceled') return { kind: 'canceled' };
      const kind = payment?.progress.kind;
      // A payment with the bank cannot be stopped. One that has failed could be confirmed once more.
      const isOnItsWay =
        payment?.progress.kind === 'alive' &&
        payment.progress.state === 'processing' &&
        payment.cancels !== true;
      if (payment === undefined || (kind !== 'alive' && kind !== 'failed') || isOnItsWay)
        return { kind: 'refused', message: `the payment is ${kind ?? 'not there'}` };
      if (payment.by !== 'app') watch.canceled?.(payment);
      payment.progress = { kind: 'canceled' };
      tell(payment, 'failed');
      return { kind: 'canceled' };
    },

    refund(request: RefundRequest): RefundOutcome | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      const { paymentId, refundId, amountMinor, idempotencyKey } = request;
      const known = refundKeys.get(idempotencyKey);
      if (known !== undefined && timeline.now - known.at < keyLifeMs) return known.answer;
      const answer = refundOnce();
      refundKeys.set(idempotencyKey, { at: timeline.now, answer });
      return answer;

      function refundOnce(): RefundOutcome {
        const payment = payments.get(paymentId);
        if (payment?.progress.kind !== 'succeeded')
          return { kind: 'refused', code: 'charge_not_captured', message: 'nothing to refund' };
        if (payment.disputes.some(({ status }) => status !== 'won'))
          return { kind: 'refused', code: 'charge_disputed', message: 'the charge is disputed' };
        const left = leftOf(payment);
        if (amountMinor > left)
          return { kind: 'refused', code: 'charge_already_refunded', message: `${left} is left` };
        watch.refunded(request, payment);
        const slow = random.next() < 0.3;
        const refund = {
          id: `re-${count++}`,
          refundId,
          amountMinor,
          status: slow ? ('pending' as const) : ('succeeded' as const),
          at: timeline.now,
        };
        addRefund(payment, refund);
        return { kind: 'refunded', providerId: refund.id, status: refund.status };
      }
    },

    /** Customers are named after what they have: `cus-none…` has no default. */
    defaultMethod(customerId: string): DefaultMethod | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
      if (isUnknown(customerId)) return { kind: 'none', message: noCustomer };
      if (customerId.startsWith('cus-none')) return { kind: 'none', message: 'no default payment method' };
      // They choose another one every few minutes.
      return { kind: 'method', id: `pm-default-${Math.floor(timeline.now / 200_000)}` };
    },

    list({ from, until, after }: EventQuery): EventPage {
      const place =
        after === undefined ? events.length : events.findIndex(({ eventId }) => eventId === after);
      const inTime = events
        .slice(0, place)
        .filter(({ at }) => at / 1000 >= from && (until === undefined || at / 1000 < until))
        .toReversed();
      const page = inTime.slice(0, pageSize);
      const [newest] = page;
      const last = inTime.length > pageSize ? page.at(-1) : undefined;
      return {
        kind: 'page',
        events: page.map(({ eventId, hint, paymentId, invoiceId }) => ({
          eventId,
          hint,
          paymentId,
          ...(invoiceId === undefined ? {} : { invoiceId }),
        })),
        ...(newest === undefined ? {} : { latest: Math.floor(newest.at / 1000) }),
        ...(last === undefined ? {} : { next: last.eventId }),
      };
    },

    /** Somebody else makes a payment. */
    pay({ ends, afterMs, by, invoiceId, customerId, amountMinor, currency }: OutsidePayment): LedgerPayment {
      const deployment = by === 'deployment' ? 'another' : undefined;
      const key = `${by}-${count}`;
      const making = { by, invoiceId, customerId, amountMinor, currency, deployment, key };
      switch (ends) {
        case 'succeeded':
          return add(making, { kind: 'succeeded' });
        case 'slow': {
          const payment = add(making, { kind: 'alive', state: 'processing' });
          tell(payment, 'alive');
          later(afterMs, () => succeed(payment));
          return payment;
        }
        case 'bounces': {
          const payment = add(making, { kind: 'alive', state: 'processing' });
          tell(payment, 'alive');
          later(afterMs, () => {
            if (payment.progress.kind !== 'alive') return;
            const why = { severity: 'soft', code: 'insufficient_funds', message: 'declined' } as const;
            payment.progress = { kind: 'failed', ...why };
            tell(payment, 'failed');
          });
          return payment;
        }
        case 'fails': {
          const why = { severity: 'soft', code: 'insufficient_funds', message: 'declined' } as const;
          const payment = add(making, { kind: 'failed', ...why });
          tell(payment, 'failed');
          return payment;
        }
        case 'waits': {
          const state = 'requires_action';
          const payment = add(making, { kind: 'alive', state, waitsForCustomer: true });
          later(afterMs, () => {
            if (payment.progress.kind === 'alive') succeed(payment);
          });
          return payment;
        }
      }
    },

    /** Somebody refunds so much of a payment. False: there is not so much left. */
    refundByHand(paymentId: string, amountMinor: number): boolean {
      const payment = payments.get(paymentId);
      if (payment === undefined || leftOf(payment) < amountMinor) return false;
      const at = timeline.now;
      addRefund(payment, { id: `re-${count++}`, refundId: undefined, amountMinor, status: 'succeeded', at });
      return true;
    },

    /** Somebody reverses a payment of an invoice without the app. */
    reverse(invoiceId: string, what: Reversal): void {
      const payment = paymentsOf(invoiceId).find((one) => one.progress.kind === 'succeeded');
      if (payment === undefined) return;
      const isWhole = what === 'refund' || what === 'dispute';
      if (isWhole ? isTouched(payment) : leftOf(payment) < 2) return;
      const amountMinor = isWhole ? payment.amountMinor : Math.ceil(leftOf(payment) / 2);
      const number = count++;
      const refund = { id: `re-${number}`, refundId: undefined, amountMinor, at: timeline.now };
      switch (what) {
        case 'refund':
        case 'partial refund':
          addRefund(payment, { ...refund, status: 'succeeded' });
          return;
        case 'refund that fails':
          addRefund(payment, { ...refund, status: 'succeeded' });
          later(random.between(1, 5) * 24 * hour, () => moveRefund(payment, refund.id, 'failed'));
          return;
        case 'canceled refund':
          addRefund(payment, { ...refund, status: 'pending' }, 'canceled');
          return;
        case 'dispute':
        case 'partial dispute':
        case 'inquiry': {
          const dispute = { id: `dp-${number}`, amountMinor, status: 'open' as const, at: timeline.now };
          payment.disputes.push(dispute);
          tell(payment, 'reversed');
          const won = random.next() < 0.5 || what === 'inquiry';
          later(random.between(1, 20) * 24 * hour, () => {
            payment.disputes = payment.disputes.map((one) =>
              one.id === dispute.id ? { ...one, status: won ? 'won' : 'lost' } : one,
            );
            tell(payment, 'reversed');
          });
        }
      }
    },
  };

  function succeed(payment: LedgerPayment): void {
    payment.progress = { kind: 'succeeded' };
    tell(payment, 'succeeded');
  }

  function leftOf({ refunds, amountMinor }: LedgerPayment): number {
    return refunds.filter(isGoneOrGoing).reduce((left, one) => left - one.amountMinor, amountMinor);
  }

  function addRefund(payment: LedgerPayment, refund: LedgerRefund, ends = endOf(refund)): void {
    payment.refunds.push(refund);
    tell(payment, 'reversed');
    if (refund.status === 'pending')
      later(random.between(1, 72) * hour, () => moveRefund(payment, refund.id, ends));
    else if (more !== undefined && more.next() < 0.1)
      later(more.between(1, 5) * 24 * hour, () => moveRefund(payment, refund.id, 'failed'));
  }

  /** End of a refund that is pending. */
  function endOf({ status }: LedgerRefund): LedgerRefund['status'] {
    if (status !== 'pending') return status;
    if (more !== undefined && more.next() < 0.2) return 'canceled';
    return random.next() < 0.3 ? 'failed' : 'succeeded';
  }

  function moveRefund(payment: LedgerPayment, id: string, status: LedgerRefund['status']): void {
    payment.refunds = payment.refunds.map((one) => (one.id === id ? { ...one, status } : one));
    tell(payment, 'reversed');
  }
}

const noCustomer = 'no such customer';
const noSuchCustomer = { kind: 'refused' } as const;

/** Customers that the provider does not have. */
function isUnknown(customerId: string): boolean {
  return customerId.startsWith('cus-unknown');
}
