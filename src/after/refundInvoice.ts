import { createHash } from 'node:crypto';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { type Refund, reversalsOf, withReversals } from '../invoice/reversals.ts';
import { madeByHand, mayBeLost, withLookAlikes } from '../paying/mergeReversals.ts';
import { stripeAmount } from '../stripe/stripeAmount.ts';
import { type Recorded, type RecordParts, record } from './record.ts';

export interface RefundWish {
  refundId: string;
  /** Absent: all that is left. */
  amountMinor?: number;
  reason: string;
  by: string;
  requestKey: string;
}

export type RefundDecision =
  /** It is ordered, perhaps once more because the first order may be lost. */
  | Recorded
  | { kind: 'repeated'; refund: Refund }
  | { kind: 'otherRequest'; refund: Refund }
  | { kind: 'notPaid'; status: InvoiceStatus }
  | { kind: 'tooMuch'; leftMinor: number }
  /** The provider takes no such amount of this currency. */
  | { kind: 'badAmount'; error: string }
  | { kind: 'tooMany'; most: number };

/** Refunds of one invoice: each is kept with it, and a document must not grow without bound. */
const mostRefunds = 100;

/**
 * Decides on a refund that is asked for at `now` (milliseconds). What is requested, pending or has succeeded never exceeds what
 * was paid; a refund that failed frees its amount. Disputes take nothing from it: whether a disputed payment can be refunded
 * is for the provider to say (https://docs.stripe.com/disputes/how-disputes-work). Pure.
 */
export function decideRefund(
  { status, amountMinor: paidMinor, currency, reversals }: Invoice,
  { refundId, amountMinor, reason, by, requestKey }: RefundWish,
  now: number,
): RefundDecision {
  const known = reversals?.refunds.find(({ id }) => id === refundId);
  if (known !== undefined) {
    if (!isSameRequest(known, { amountMinor, reason })) return { kind: 'otherRequest', refund: known };
    return known.mayBe === undefined && mayBeLost(known, now)
      ? ordered('refund ordered again', known.amountMinor, {})
      : { kind: 'repeated', refund: known };
  }
  if (status !== 'paid') return { kind: 'notPaid', status };
  const leftMinor = Math.max(0, paidMinor - (reversals?.refundedMinor ?? 0));
  const wanted = amountMinor ?? leftMinor;
  if (wanted === 0 || wanted > leftMinor) return { kind: 'tooMuch', leftMinor };
  const amount = stripeAmount(wanted, currency);
  if ('refused' in amount) return { kind: 'badAmount', error: amount.refused };
  const refunds = reversals?.refunds ?? [];
  if (refunds.length >= mostRefunds) return { kind: 'tooMany', most: mostRefunds };
  const rest = amountMinor === undefined ? { rest: true as const } : {};
  const asked = { amountMinor: wanted, at: new Date(now).toISOString(), by, reason, requestKey, ...rest };
  const others = madeByHand({ refunds }, wanted).map(({ id }) => id);
  const apart = others.length === 0 ? {} : { others };
  const refund: Refund = { id: refundId, status: 'requested', ...asked, ...apart };
  const after = reversalsOf([...refunds, refund], reversals?.disputes ?? [], reversals);
  return ordered('refund requested', wanted, withReversals(after, now));

  function ordered(what: string, amount: number, change: Recorded['change']): Recorded {
    const entry = { what, by, refundId, amountMinor: amount, reason };
    return { kind: 'change', change, entry, orders: [refundId] };
  }
}

/** After a restore from a backup a refund may be known from the provider only, which has no reason, and not how it was asked for. */
function isSameRequest(
  known: Refund,
  { amountMinor, reason }: { amountMinor: number | undefined; reason: string },
): boolean {
  if (known.by === undefined) return amountMinor === undefined || amountMinor === known.amountMinor;
  const sameAmount =
    amountMinor === undefined
      ? known.rest === true
      : known.rest === undefined && known.amountMinor === amountMinor;
  return sameAmount && known.reason === reason;
}

/** The id of the refund that an Idempotency-Key of an invoice stands for. */
export function refundIdOf(invoiceId: string, idempotencyKey: string): string {
  const hash = createHash('sha256').update(JSON.stringify([invoiceId, idempotencyKey]));
  return `rf_${hash.digest('base64url')}`;
}

export type RequestedRefund =
  /** By this call, or by an earlier one with the same key. */
  | { kind: 'requested'; refund: Refund }
  | { kind: 'notFound' }
  | Exclude<RefundDecision, { kind: 'change' | 'repeated' }>;

/**
 * Requests a refund of a paid invoice: the request and the order to carry it out (refundStage.ts) are one transaction. The same
 * idempotency key stands for the same refund. @throws {NewerVersion} {NoClearAnswer} it may have been requested: send it again
 * under the same key
 */
export async function refundInvoice(
  parts: RecordParts,
  id: string,
  { idempotencyKey, ...asked }: Omit<RefundWish, 'refundId' | 'requestKey'> & { idempotencyKey: string },
): Promise<RequestedRefund> {
  const refundId = refundIdOf(id, idempotencyKey);
  const wish = { ...asked, refundId, requestKey: idempotencyKey };
  const updated = await record(parts, id, (invoice, now) => decideRefund(invoice, wish, now));
  if (updated.kind === 'repeated') return { kind: 'requested', refund: updated.refund };
  if (updated.kind !== 'updated') return updated;
  const refund = updated.invoice.reversals?.refunds.find(({ id: one }) => one === refundId);
  if (refund === undefined) throw new Error(`refund ${refundId} of invoice ${id} is gone`);
  return { kind: 'requested', refund };
}

/** A person's word on a refund of ours and one that was made at the provider without our id. */
export interface RefundWord {
  refundId: string;
  providerId: string;
  /** True: they are one. False: ours is still to be made. */
  isSame: boolean;
  reason: string;
  by: string;
}

export type SettledRefund =
  | { kind: 'settled'; invoice: Invoice }
  | { kind: 'notFound' }
  /** No refund of this id waits for a word on that one of the provider. */
  | { kind: 'notAsked' }
  | { kind: 'tooMuch'; leftMinor: number };

/** Records a person's word on a refund that may have been made by hand. @throws {NoClearAnswer} {NewerVersion} */
export async function settleRefund(parts: RecordParts, id: string, word: RefundWord): Promise<SettledRefund> {
  const updated = await record(parts, id, (invoice, now) => decideWord(invoice, word, now));
  return updated.kind === 'updated' ? { kind: 'settled', invoice: updated.invoice } : updated;
}

/** Pure. */
function decideWord(
  { reversals, amountMinor: paidMinor }: Pick<Invoice, 'reversals' | 'amountMinor'>,
  word: RefundWord,
  now: number,
): Recorded | Extract<SettledRefund, { kind: 'notAsked' | 'tooMuch' }> {
  const { refundId, providerId, isSame } = word;
  const waiting = reversals?.refunds.filter((one) => one.status === 'requested' && one.mayBe !== undefined);
  const asked = waiting?.find(({ id, mayBe }) => id === refundId && mayBe === providerId);
  const made = reversals?.refunds.find((one) => one.id === providerId);
  if (reversals === undefined || asked === undefined || made === undefined) return { kind: 'notAsked' };
  const { mayBe: _, ...ours } = asked;
  const leftMinor = Math.max(0, paidMinor - reversals.refundedMinor);
  if (!isSame && ours.amountMinor > leftMinor) return { kind: 'tooMuch', leftMinor };
  const { status, failure } = made;
  const orderedAgainAt = new Date(now).toISOString();
  const settled = isSame
    ? { ...ours, providerId, status, ...(failure === undefined ? {} : { failure }) }
    : { ...ours, others: [...(ours.others ?? []), providerId], orderedAgainAt };
  const refunds = reversals.refunds
    .filter((one) => !isSame || one !== made)
    .map((one) => (one === asked ? settled : one));
  const after = withLookAlikes(reversalsOf(refunds, reversals.disputes, reversals));
  // Another one of this amount may have waited for this word.
  const ids = new Set(waiting?.map(({ id }) => id));
  const free = after.refunds.filter(
    (one) => ids.has(one.id) && one.status === 'requested' && one.mayBe === undefined,
  );
  // Not if there is another one that it may be.
  const isOrdered = free.some(({ id }) => id === refundId);
  return {
    kind: 'change',
    change: withReversals(after, now),
    entry: {
      what: isSame ? 'refund found' : isOrdered ? 'refund ordered again' : 'refund is another',
      ...word,
    },
    orders: free.map(({ id }) => id),
  };
}
