import type { PaymentProvider, ProviderPayment, RefundOutcome } from '../../src/paying/paymentProvider.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { emptyProvider } from '../support/emptyProvider.ts';

/**
 * Fault of one call. `crash…`: the process that calls is killed, before the call arrives or after it was
 * carried out.
 */
export type CallFault =
  | 'none'
  | 'lostBefore'
  | 'lostAfter'
  | 'rememberedFailure'
  | 'transient'
  | 'crashBefore'
  | 'crashAfter';

type Status = 'pending' | 'succeeded' | 'failed';
interface MadeRefund {
  providerId: string;
  refundId: string;
  amountMinor: number;
  status: Status;
  at: string;
}

const rememberedMs = 24 * 3_600_000;

/**
 * A provider with one payment that succeeded, whose refunds follow Stripe's rules: a key is answered with what it did
 * before, for 24 h and not a moment longer; a failure may be remembered under a key although the refund was made; no more
 * goes back than was paid; its lists show a refund at once.
 */
export function providerWithRefunds({
  invoiceId,
  paidMinor,
  now,
  fault,
  outcomes,
  crash,
}: {
  invoiceId: string;
  paidMinor: number;
  now: () => number;
  fault: () => CallFault;
  outcomes: readonly ('succeeded' | 'pending' | 'pendingFails')[];
  crash: () => Error;
}) {
  const made: (MadeRefund & { fails: boolean })[] = [];
  const keys = new Map<string, { at: number; answer: RefundOutcome }>();
  const refunds = (): MadeRefund[] =>
    made.map(({ providerId, refundId, amountMinor, status, at }) => ({
      providerId,
      refundId,
      amountMinor,
      status,
      at,
    }));
  const unknown = (message: string): RefundOutcome => ({ kind: 'unknown', message });

  const provider: PaymentProvider = {
    ...emptyProvider,
    charge: () => Promise.reject(new Error('nothing is charged here')),
    find: () => Promise.reject(new Error('nothing is looked up here')),

    async retrieve(paymentId): Promise<ProviderPayment> {
      return {
        kind: 'payment',
        paymentId,
        invoiceId,
        customerId: anInvoice().customerId,
        amountMinor: anInvoice().amountMinor,
        currency: anInvoice().currency,
        progress: { kind: 'succeeded' },
        reversals: { refunds: refunds(), disputes: [] },
      };
    },

    async refund({ refundId, amountMinor, idempotencyKey }) {
      const trouble = fault();
      if (trouble === 'crashBefore') throw crash();
      if (trouble === 'lostBefore') return unknown('no answer');
      if (trouble === 'transient') return { kind: 'transient', code: 'ECONNREFUSED', message: 'down' };
      const before = keys.get(idempotencyKey);
      if (before !== undefined && now() - before.at < rememberedMs) return before.answer;
      const answer = carryOut(refundId, amountMinor);
      keys.set(idempotencyKey, {
        at: now(),
        answer: trouble === 'rememberedFailure' ? unknown('500') : answer,
      });
      if (trouble === 'crashAfter') throw crash();
      if (trouble === 'lostAfter') return unknown('no answer');
      return trouble === 'rememberedFailure' ? unknown('500') : answer;
    },
  };

  function carryOut(refundId: string, amountMinor: number): RefundOutcome {
    const gone = made.reduce((sum, one) => (one.status === 'failed' ? sum : sum + one.amountMinor), 0);
    if (amountMinor > paidMinor - gone)
      return { kind: 'refused', code: 'amount_too_large', message: 'too much' };
    const providerId = `re_${made.length + 1}`;
    const outcome = outcomes[made.length % outcomes.length];
    const status = outcome === 'succeeded' ? ('succeeded' as const) : ('pending' as const);
    const at = new Date(now()).toISOString();
    made.push({ providerId, refundId, amountMinor, status, at, fails: outcome === 'pendingFails' });
    return { kind: 'refunded', providerId, status };
  }

  return {
    provider,
    /** Lists the refunds that were made, whatever has become of them. */
    refunds,
    /** Lets the refunds that are pending end. */
    endAll() {
      for (const refund of made)
        if (refund.status === 'pending') refund.status = refund.fails ? 'failed' : 'succeeded';
    },
  };
}
