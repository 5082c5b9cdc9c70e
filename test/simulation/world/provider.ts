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
  FoundPayment,
  ProviderPayment,
  RateLimited,
  RefundOutcome,
  RefundRequest,
  RetrievedPayment,
  SoughtPayment,
} from '../../../src/paying/paymentProvider.ts';
import type { EventHint, EventPage, EventQuery } from '../../../src/paying/providerEvents.ts';
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { Timeline } from '../engine/machine.ts';
import { holdsMoney, isTouched, type LedgerEvent, type LedgerPayment, reversalsOfPayment } from './ledger.ts';

/** What happens to one charge. */
export type ChargeFate =
  | { kind: 'ok' }
  | { kind: 'declined'; severity: 'soft' | 'hard' }
  /** Ends after `afterMs`, one way or the other. */
  | { kind: 'slow'; afterMs: number; ends: 'succeeded' | 'failed' }
  /** Waits for the customer; canceling it succeeds, or it goes on. */
  | { kind: 'action'; cancels: boolean }
  | { kind: 'refused' }
  /** The provider answers with a failure, and remembers it under the key. `moved`: the charge was made all the same. */
  | { kind: 'remembered'; moved: boolean };

const hour = 3_600_000;
/** How long a key is remembered, in milliseconds: a day at least (https://docs.stripe.com/api/idempotent_requests). */
const keyLifeMs = 24 * hour;
const pageSize = 20;

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
  /** There is a new event. */
  told(): void;
}

export interface ProviderParts {
  timeline: Timeline;
  random: SeededRandom;
  /** The fate of the next new charge of an invoice. */
  fateOf: (invoiceId: string, charge: number) => ChargeFate;
  watch: ProviderWatch;
  /** Calls per second that are taken now. */
  rate: () => number;
  /** How far the search lags, in milliseconds. */
  searchLagMs: () => number;
  /** Whether a call is within the limit. Default: so many by the second of its own clock. */
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
  ...more
}: ProviderParts) {
  const payments = new Map<string, LedgerPayment>();
  const byInvoice = new Map<string, LedgerPayment[]>();
  const keys = new Map<string, Key>();
  const refundKeys = new Map<string, { at: number; answer: RefundOutcome }>();
  const events: LedgerEvent[] = [];
  let second = 0;
  let inSecond = 0;
  let count = 0;

  const { takes = withinSecond } = more;

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
    events.push({ eventId: `evt-${events.length}`, at: timeline.now, hint, paymentId, invoiceId });
    watch.told();
  }

  function later(ms: number, run: () => void): void {
    timeline.events.add(timeline.now + Math.ceil(ms), () => {
      timeline.running = undefined;
      run();
    });
  }

  function replay({ answer, paymentId, busyUntil }: Key): ChargeOutcome {
    if (timeline.now < busyUntil)
      return { kind: 'unknown', message: '409: a call with this key is under way' };
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
      invoiceId,
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

  function makePayment(request: ChargeRequest, progress: LedgerPayment['progress']): LedgerPayment {
    const { invoiceId, customerId, amountMinor, currency, deployment, idempotencyKey: key } = request;
    const payment: LedgerPayment = {
      id: `pi-${count++}`,
      invoiceId,
      customerId,
      amountMinor,
      currency,
      deployment,
      key,
      createdAt: timeline.now,
      searchableAt: timeline.now + searchLagMs(),
      progress,
      refunds: [],
      disputes: [],
    };
    payments.set(payment.id, payment);
    byInvoice.set(invoiceId, [...paymentsOf(invoiceId), payment]);
    if (progress.kind === 'succeeded') tell(payment, 'succeeded');
    return payment;
  }

  function carryOut(request: ChargeRequest): { answer: ChargeOutcome; paymentId?: string } {
    const fate = fateOf(request.invoiceId, paymentsOf(request.invoiceId).length);
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
        });
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
      const since = sought.since === undefined ? undefined : Date.parse(sought.since) - hour;
      const seen = paymentsOf(sought.invoiceId).filter(
        ({ searchableAt, createdAt, progress }) =>
          (searchableAt <= timeline.now || (since !== undefined && createdAt >= since)) &&
          (progress.kind === 'succeeded' || progress.kind === 'alive'),
      );
      return foundAmong(
        seen.map((payment) => shownTo(payment, sought.deployment)),
        sought,
      );
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
      // What is on its way to the bank cannot be stopped.
      if (payment?.progress.kind !== 'alive' || payment.progress.state === 'processing')
        return { kind: 'refused', message: `the payment is ${payment?.progress.kind ?? 'not there'}` };
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
        const before = payment.refunds.filter(({ status }) => status !== 'failed');
        const left = before.reduce((rest, one) => rest - one.amountMinor, payment.amountMinor);
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
        addRefund(payment, refund, slow && random.next() < 0.3);
        return { kind: 'refunded', providerId: refund.id, status: refund.status };
      }
    },

    /** Customers are named after what they have: `cus-none…` has no default. */
    defaultMethod(customerId: string): DefaultMethod | RateLimited {
      const refused = limited();
      if (refused !== undefined) return refused;
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
          invoiceId,
        })),
        ...(newest === undefined ? {} : { latest: Math.floor(newest.at / 1000) }),
        ...(last === undefined ? {} : { next: last.eventId }),
      };
    },

    /** Somebody reverses a payment of an invoice without the app. */
    reverse(invoiceId: string, what: 'refund' | 'dispute'): void {
      const payment = paymentsOf(invoiceId).find((one) => one.progress.kind === 'succeeded');
      if (payment === undefined || isTouched(payment)) return;
      const { amountMinor } = payment;
      if (what === 'refund') {
        const at = timeline.now;
        const refund = { id: `re-${count++}`, refundId: undefined, amountMinor, at };
        addRefund(payment, { ...refund, status: 'succeeded' }, false);
        return;
      }
      const dispute = { id: `dp-${count++}`, amountMinor, status: 'open' as const, at: timeline.now };
      payment.disputes.push(dispute);
      tell(payment, 'reversed');
      const won = random.next() < 0.5;
      later(random.between(1, 20) * 24 * hour, () => {
        payment.disputes = payment.disputes.map((one) =>
          one.id === dispute.id ? { ...one, status: won ? 'won' : 'lost' } : one,
        );
        tell(payment, 'reversed');
      });
    },
  };

  function addRefund(payment: LedgerPayment, refund: LedgerPayment['refunds'][number], fails: boolean): void {
    payment.refunds.push(refund);
    tell(payment, 'reversed');
    if (refund.status !== 'pending') return;
    later(random.between(1, 72) * hour, () => {
      payment.refunds = payment.refunds.map((one) =>
        one.id === refund.id ? { ...one, status: fails ? 'failed' : 'succeeded' } : one,
      );
      tell(payment, 'reversed');
    });
  }
}
