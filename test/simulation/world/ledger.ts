/** What the payment provider knows of its payments, their refunds and disputes. */
import type { PaymentProgress, ProviderReversals } from '../../../src/paying/paymentProvider.ts';
import type { EventHint } from '../../../src/paying/providerEvents.ts';

export interface LedgerRefund {
  id: string;
  refundId: string | undefined;
  amountMinor: number;
  status: 'pending' | 'succeeded' | 'failed';
  at: number;
}

export interface LedgerDispute {
  id: string;
  amountMinor: number;
  status: 'open' | 'won' | 'lost';
  at: number;
}

export interface LedgerPayment {
  readonly id: string;
  readonly invoiceId: string;
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
  refunds: LedgerRefund[];
  disputes: LedgerDispute[];
}

export interface LedgerEvent {
  readonly eventId: string;
  readonly at: number;
  readonly hint: EventHint;
  readonly paymentId: string;
  readonly invoiceId: string;
}

/** Whether money has moved for it, and not all of it back. */
export function holdsMoney({ progress, amountMinor, refunds, disputes }: LedgerPayment): boolean {
  if (progress.kind !== 'succeeded') return false;
  const gone = [
    ...refunds.filter(({ status }) => status === 'succeeded'),
    ...disputes.filter(({ status }) => status === 'lost'),
  ];
  return gone.reduce((sum, one) => sum + one.amountMinor, 0) < amountMinor;
}

/** Whether it holds money or may still get it. */
export function mayHoldMoney(payment: LedgerPayment): boolean {
  return payment.progress.kind === 'alive' || holdsMoney(payment);
}

/** Whether something of it has gone back, or may. */
export function isTouched({ refunds, disputes }: LedgerPayment): boolean {
  return refunds.some(({ status }) => status !== 'failed') || disputes.some(({ status }) => status !== 'won');
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
