import type { Invoice, PaymentState } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { RetryWish } from './decideRetry.ts';

/** Who retries, why, and when: `at` is ISO 8601. */
export interface RetryNote extends RetryWish {
  actor: string;
  reason?: string;
  at: string;
  /** The run of a bulk operation that does it. */
  runId?: string;
  /** What a check at the provider has found. */
  check?: string;
}

/** Whether an invoice waits for a later try, so that a person can make it due now. Pure. */
export function waitsForRetry(
  { status, dueAt, actionableAt }: Pick<Invoice, 'status' | 'dueAt' | 'actionableAt'>,
  now: string,
): boolean {
  return status === 'pending' && actionableAt !== undefined && actionableAt > now && dueAt <= now;
}

/** Makes one that waits due now. Its key, its attempts and its schedule of declines stay as they are. Pure. */
export function dueNow({ actionableAt }: Pick<Invoice, 'actionableAt'>, note: RetryNote): InvoiceChange {
  const { at, actor: by, reason, runId } = note;
  return {
    set: { actionableAt: at },
    entry: {
      at,
      what: 'made due now',
      by,
      ...(actionableAt === undefined ? {} : { from: actionableAt }),
      ...(reason === undefined ? {} : { reason }),
      ...(runId === undefined ? {} : { runId }),
    },
  };
}

/** Puts a parked or declined invoice back to pending, due now, with the payment state to go on from. Pure. */
export function retried(
  { status: from }: Pick<Invoice, 'status'>,
  payment: PaymentState,
  note: RetryNote,
): InvoiceChange {
  const { at, actor: by, reason, runId, notCharged, paymentMethod, check } = note;
  return {
    set: { status: 'pending', actionableAt: at, attempts: 0, payment },
    clear: ['reason', 'declinedAt'],
    entry: {
      at,
      what: 'retried',
      by,
      from,
      keyNumber: payment.keyNumber,
      ...(reason === undefined ? {} : { reason }),
      ...(notCharged === true ? { notCharged } : {}),
      ...(paymentMethod === undefined ? {} : { paymentMethod }),
      ...(runId === undefined ? {} : { runId }),
      ...(check === undefined ? {} : { check }),
    },
  };
}
