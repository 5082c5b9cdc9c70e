import type { InvoiceEnd } from '../invoice/followUps.ts';
import {
  type Dispute,
  goneBack,
  inOrder,
  type Refund,
  type RefundStatus,
  type Reversals,
  reversalsOf,
  type SecondPayment,
} from '../invoice/reversals.ts';
import type { ProviderReversals } from './paymentProvider.ts';

export const noReversals: ProviderReversals = { refunds: [], disputes: [] };

/**
 * The reversals once the provider's view is added to what is recorded. Its word counts; what only we know stays, such as a
 * refund that it has not taken yet. Undefined if there are none. `second`: the view is of a second payment. Pure.
 *
 * Refunds are matched by id, never by amount. Views may come late and in any order, so nothing that has been reported is
 * taken back: a refund only moves on, and a dispute that was closed stays closed.
 */
export function withProviderReversals(
  recorded: Reversals | undefined,
  provider: ProviderReversals,
  second?: SecondPayment,
): Reversals | undefined {
  const { id: paymentId, currency } = second ?? {};
  const ofPayment = {
    ...(paymentId === undefined ? {} : { paymentId }),
    ...(currency === undefined ? {} : { currency }),
  };
  const refunds = [...(recorded?.refunds ?? [])];
  for (const { providerId, refundId, ...seen } of inOrder(provider.refunds, ({ providerId: id }) => id)) {
    const place = placeOf(refunds, providerId, refundId);
    const found = refunds[place];
    if (found !== undefined) {
      const { mayBe: _, ...before } = found;
      // The reason and the time of one of ours are those of its request.
      const { amountMinor, failure } = seen;
      const status = before.providerId === undefined ? seen.status : later(before.status, seen.status);
      const why = failure === undefined ? {} : { failure };
      refunds[place] = { ...before, providerId, amountMinor, status, ...why };
    } else {
      const isTaken = refunds.some(({ id }) => id === refundId);
      refunds.push({
        id: isTaken ? providerId : (refundId ?? providerId),
        providerId,
        ...seen,
        ...ofPayment,
      });
    }
  }
  const disputes = [...(recorded?.disputes ?? [])];
  for (const seen of provider.disputes) {
    const place = disputes.findIndex(({ id }) => id === seen.id);
    const before = disputes[place];
    if (before === undefined) disputes.push({ ...ofPayment, ...seen });
    else if (before.status === 'open' || seen.status !== 'open') disputes[place] = { ...before, ...seen };
  }
  const payments = withSecond(recorded?.payments, second);
  if (refunds.length + disputes.length + payments.length === 0) return undefined;
  return reversalsOf(refunds, disputes, payments.length === 0 ? recorded : { ...recorded, payments });
}

function withSecond(recorded: readonly SecondPayment[] = [], second: SecondPayment | undefined) {
  const isKnown = second === undefined || recorded.some(({ id }) => id === second.id);
  return isKnown ? [...recorded] : [...recorded, second];
}

/** The reversals once what was a second payment is the invoice's own. Pure. */
export function withOwnPayment(recorded: Reversals | undefined, paymentId: string): Reversals | undefined {
  if (recorded?.payments === undefined) return recorded;
  const { payments: before, ...rest } = recorded;
  const payments = before.filter(({ id }) => id !== paymentId);
  const own = <Part extends { paymentId?: string }>(part: Part) => {
    const { paymentId: of, ...others } = part;
    return of === paymentId ? others : part;
  };
  if (payments.length + rest.refunds.length + rest.disputes.length === 0) return undefined;
  return reversalsOf(rest.refunds.map(own), rest.disputes.map(own), {
    ...rest,
    ...(payments.length === 0 ? {} : { payments }),
  });
}

/** Time in which the order of a refund is carried out (ms): after that, it may be lost. */
export const carriedOutWithinMs = 60_000;

/** True if the order of a refund may be lost at `now` (milliseconds): it is a message, and a queue can lose one. Pure. */
export function mayBeLost({ status, at, orderedAgainAt = at }: Refund, now: number): boolean {
  return status === 'requested' && now - Date.parse(orderedAgainAt) >= carriedOutWithinMs;
}

/** Refunds of an amount that were not asked for here, and whose money has gone back. Pure. */
export function madeByHand({ refunds }: Pick<Reversals, 'refunds'>, amountMinor: number): Refund[] {
  return goneBack(refunds).filter(
    (one) => one.id === one.providerId && one.paymentId === undefined && one.amountMinor === amountMinor,
  );
}

/**
 * The reversals in which each refund of ours that is still to be made names the provider's refund that may be it: one of the same
 * amount that was not asked for here, and that was not known when ours was requested. Somebody may have made it by hand. Times are
 * not compared: the request was dated by a clock that may be wrong. Pure.
 */
export function withLookAlikes(reversals: Reversals): Reversals {
  const refunds = reversals.refunds.map((refund) => {
    const { mayBe: _, ...known } = refund;
    if (refund.status !== 'requested') return known;
    const { others = [] } = refund;
    const mayBe = madeByHand(reversals, refund.amountMinor).find(({ id }) => !others.includes(id))?.id;
    return mayBe === undefined ? known : { ...known, mayBe };
  });
  return reversalsOf(refunds, reversals.disputes, reversals);
}

/** Where the provider's refund is recorded. One of ours counts only once: a second one under its id is another refund. */
function placeOf(refunds: readonly Refund[], providerId: string, refundId: string | undefined): number {
  const known = refunds.findIndex((refund) => refund.providerId === providerId);
  if (known !== -1 || refundId === undefined) return known;
  return refunds.findIndex(({ id, providerId: taken }) => id === refundId && taken === undefined);
}

/** A refund never goes back to an earlier state. */
function later(one: RefundStatus, other: RefundStatus): RefundStatus {
  const order: readonly RefundStatus[] = ['requested', 'pending', 'succeeded', 'canceled', 'failed'];
  return order.indexOf(one) > order.indexOf(other) ? one : other;
}

/**
 * True if all of a payment's money has certainly gone back: refunds that are done, and disputes that are lost. Those in another
 * currency than the payment's do not count. Pure.
 */
export function isReversedInFull(
  {
    refunds,
    disputes,
  }: Record<'refunds' | 'disputes', readonly { status: string; amountMinor: number; currency?: string }[]>,
  amountMinor: number,
): boolean {
  const gone = [
    ...refunds.filter(({ status }) => status === 'succeeded'),
    ...disputes.filter(({ status }) => status === 'lost'),
  ];
  return (
    gone.reduce((sum, part) => sum + (part.currency === undefined ? part.amountMinor : 0), 0) >= amountMinor
  );
}

/**
 * Changes that somebody has to hear of: refunds that are done or come to nothing, disputes that were opened or lost. Each is in `after`
 * and not in `before`, so the first to record it announces it, and nobody else does. Pure.
 */
export function newReversals(
  before: Reversals | undefined,
  after: Reversals,
  ownPaymentId: string,
): InvoiceEnd[] {
  const partOf = ({
    id,
    amountMinor,
    paymentId = ownPaymentId,
    currency,
  }: Omit<Refund, 'status' | 'at'>) => ({
    paymentId,
    reversalId: id,
    reversedMinor: amountMinor,
    ...(currency === undefined ? {} : { reversedCurrency: currency }),
  });
  return [
    ...moved(before?.refunds, after.refunds).flatMap(({ status, failure, ...refund }): InvoiceEnd[] => {
      if (status === 'requested' || status === 'pending') return [];
      if (status === 'succeeded') return [{ kind: 'refunded', ...partOf(refund) }];
      return [{ kind: 'refundFailed', ...partOf(refund), reason: failure ?? status }];
    }),
    ...moved(before?.disputes, after.disputes).flatMap(({ status, reason, ...dispute }) => {
      if (status === 'won') return [];
      const kind = status === 'lost' ? ('disputeLost' as const) : ('disputed' as const);
      return [{ kind, ...partOf(dispute), reason }];
    }),
  ];
}

/** The same for the timeline, in one line: which refunds and disputes are new or have moved, and to what. Pure. */
export function reversalChanges(before: Reversals | undefined, after: Reversals): string {
  return [
    ...moved(before?.refunds, after.refunds).map(({ id, status }) => `refund ${id}: ${status}`),
    ...after.refunds
      .filter(
        ({ id, mayBe }) =>
          mayBe !== undefined && mayBe !== before?.refunds.find((one) => one.id === id)?.mayBe,
      )
      .map(({ id, mayBe }) => `refund ${id}: perhaps made as ${mayBe}, a person decides`),
    ...moved(before?.disputes, after.disputes).map(({ id, status }) => `dispute ${id}: ${status}`),
  ].join(', ');
}

/** Parts that are new or have another status than before. */
function moved<T extends Refund | Dispute>(before: readonly T[] = [], after: readonly T[]): T[] {
  return after.filter(({ id, status }) => before.find((one) => one.id === id)?.status !== status);
}
