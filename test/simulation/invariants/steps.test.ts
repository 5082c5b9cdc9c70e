import { expect, test } from 'vitest';
import type { ChargeRequest } from '../../../src/paying/paymentProvider.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import type { Provider } from '../world/provider.ts';
import { paymentOfApp } from './paymentOfApp.ts';
import { asInvoice, createStepChecks } from './steps.ts';

function invoice(status: string): StoredDocument {
  return {
    id: 'inv-1',
    shard: '00',
    _etag: '1',
    _rid: 1,
    type: 'invoice',
    status,
    payment: { keyNumber: 1 },
    timeline: [{ at: '2026-03-02T08:00:00.000Z', what: status }],
  };
}

/** The checks of a world with one payment, and the invariants that they find violated. */
function checksOf(refunds: Parameters<typeof paymentOfApp>[1], stored?: StoredDocument) {
  const violated: string[] = [];
  const checks = createStepChecks({
    report: (invariant) => violated.push(invariant),
    provider: () => ({ paymentsOf: () => [paymentOfApp('pi-1', refunds)] }) as unknown as Provider,
    invoice: () => asInvoice(stored),
    calm: false,
    mayHoldBack: () => true,
    madeByHand: () => false,
    pays: () => true,
    isVoided: () => false,
    claiming() {},
  });
  return { checks, violated };
}

/** The invariants that a write to the invoice violates. */
function violatedBy(before: string, after: string, refunds: Parameters<typeof paymentOfApp>[1]): string[] {
  const { checks, violated } = checksOf(refunds);
  checks.wrote(invoice(after), invoice(before));
  return violated;
}

test('an invoice is not voided while its payment holds money', () => {
  expect(violatedBy('parked', 'voided', [])).toEqual(['paid means paid']);
  expect(violatedBy('parked', 'voided', [{ amountMinor: 1_000, status: 'failed' }])).toEqual([
    'paid means paid',
  ]);
  expect(violatedBy('parked', 'voided', [{ amountMinor: 1_000, status: 'succeeded' }])).toEqual([]);
});

test('one that was voided may be written to once more while the refund of its payment has failed', () => {
  expect(violatedBy('voided', 'voided', [{ amountMinor: 1_000, status: 'failed' }])).toEqual([]);
  expect(violatedBy('voided', 'voided', [])).toEqual(['paid means paid']);
});

test('an invoice that was claimed again names no payment that may hold its money; a call in flight may come after one is named', () => {
  const other = { ...paymentOfApp('pi-2', []), by: 'shop' as const };
  const { customerId, amountMinor, currency } = other;
  const charged = (...whats: string[]) => {
    const timeline = whats.map((what) => ({
      what,
      ...(what === 'processing' ? { paymentId: other.id } : {}),
    }));
    const { checks, violated } = checksOf([], {
      ...invoice('processing'),
      customerId,
      amountMinor,
      currency,
      dueAt: '2026-03-02T08:00:00.000Z',
      timeline,
    });
    checks.charging({ invoiceId: 'inv-1', idempotencyKey: 'k' } as ChargeRequest, [other]);
    return violated.includes('advice is safe');
  };
  expect(charged('imported', 'claimed', 'retry', 'processing')).toBe(false);
  expect(charged('imported', 'processing', 'claimed')).toBe(true);
  expect(charged('imported', 'claimed', 'retry', 'processing', 'claimed')).toBe(true);
});

test('an invoice is charged only once it is due by the clock of its claimer, unless somebody has retried it', () => {
  const charged = (dueAt: string, ...before: string[]) => {
    const at = '2026-03-02T08:00:00.000Z';
    const timeline = [...before, 'claimed'].map((what) => ({ at, what }));
    const { checks, violated } = checksOf([], { ...invoice('claimed'), dueAt, timeline });
    checks.charging({ invoiceId: 'inv-1', idempotencyKey: 'k' } as ChargeRequest, []);
    return violated.includes('not before it is due');
  };
  expect(charged('2026-03-02T08:00:00.000Z')).toBe(false);
  expect(charged('2026-03-02T12:00:00.000Z')).toBe(true);
  expect(charged('2026-03-02T12:00:00.000Z', 'retried')).toBe(false);
});
