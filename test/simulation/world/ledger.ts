/** The payment provider's records of payments, their refunds and disputes. */
import type { EventHint, PaymentProgress, ProviderReversals } from '../../../src/paying/paymentProvider.ts';

export interface LedgerRefund {
  id: string;
  refundId: string | undefined;
  amountMinor: number;
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  at: number;
}

export interface LedgerDispute {
  id: string;
  amountMinor: number;
  status: 'open' | 'won' | 'lost';
  at: number;
}

/** Makers of payments: this app, or somebody else in the same account. */
export type Maker = 'app' | 'shop' | 'dashboard' | 'deployment';

export interface LedgerPayment {
  readonly id: string;
  readonly by: Maker;
  /** The invoice that it names; undefined if it names none. */
  readonly invoiceId: string | undefined;
  readonly customerId: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** The deployment that it names. */
  readonly deployment: string | undefined;
  readonly key: string;
  readonly createdAt: number;
  /** From when on the search finds it. */
  readonly searchableAt: number;
  progress: PaymentProgress;
  /** It can be canceled although it is with the bank. */
  cancels?: true | undefined;
  /** When somebody with its secret confirmed it once more after it had failed, milliseconds. */
  confirmedAgainAt?: number;
  refunds: LedgerRefund[];
  disputes: LedgerDispute[];
}

export interface LedgerEvent {
  readonly eventId: string;
  readonly at: number;
  readonly hint: EventHint;
  readonly paymentId: string;
  readonly invoiceId: string | undefined;
}

/** As much of an invoice as says whose a payment is. */
export type Content = Pick<LedgerPayment, 'customerId' | 'amountMinor' | 'currency'>;

/**
 * Decides whose payment it is, by the table of docs/exactly-once.md. Written down here once more, so that the
 * app is not judged by its own words.
 */
export function whoseIs(payment: LedgerPayment, invoice: Content): 'ours' | 'unclear' | 'foreign' {
  if (payment.by === 'deployment' || payment.customerId !== invoice.customerId) return 'foreign';
  if (payment.amountMinor !== invoice.amountMinor || payment.currency !== invoice.currency) return 'unclear';
  return 'ours';
}

/** True if money has moved for it, and not all of it has gone back. */
export function holdsMoney({ progress, amountMinor, refunds, disputes }: LedgerPayment): boolean {
  if (progress.kind !== 'succeeded') return false;
  const gone = [
    ...refunds.filter(({ status }) => status === 'succeeded'),
    ...disputes.filter(({ status }) => status === 'lost'),
  ];
  return gone.reduce((sum, one) => sum + one.amountMinor, 0) < amountMinor;
}

/** True if it holds money or may still get it. */
export function mayHoldMoney(payment: LedgerPayment): boolean {
  return payment.progress.kind === 'alive' || holdsMoney(payment);
}

/**
 * True if all of its money had gone back, and some of that has failed since. A person may have had the invoice charged again or
 * voided it meanwhile, and nobody can know before they are told.
 */
export function hasComeBack({ amountMinor, refunds }: LedgerPayment): boolean {
  const gone = refunds.filter(({ status }) => status === 'succeeded' || status === 'failed');
  return gone.reduce((sum, one) => sum + one.amountMinor, 0) >= amountMinor;
}

/** True if some of it has gone back, or may. */
export function isTouched({ refunds, disputes }: LedgerPayment): boolean {
  return refunds.some(isGoneOrGoing) || disputes.some(({ status }) => status !== 'won');
}

/** True for a refund whose money has gone back, or is about to. */
export function isGoneOrGoing({ status }: Pick<LedgerRefund, 'status'>): boolean {
  return status === 'pending' || status === 'succeeded';
}

export function reversalsOfPayment({ refunds, disputes }: LedgerPayment): ProviderReversals {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    refunds: refunds.map(({ id, refundId, amountMinor, status, at }) => ({
      providerId: id,
      ...(refundId === undefined ? {} : { refundId }),
      amountMinor,
      status,
      at: iso(at),
    })),
    disputes: disputes.map(({ id, amountMinor, status, at }) => ({
      id,
      amountMinor,
      status,
      at: iso(at),
      reason: 'fraudulent',
    })),
  };
}
