import { expect, test } from 'vitest';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import type { LedgerPayment } from '../world/ledger.ts';
import type { Provider } from '../world/provider.ts';
import { createStepChecks } from './steps.ts';

const refunded = { id: 're-1', refundId: undefined, amountMinor: 1_000, at: 0 };
const payment: LedgerPayment = {
  id: 'pi-1',
  by: 'app',
  invoiceId: 'inv-1',
  customerId: 'cus-1',
  amountMinor: 1_000,
  currency: 'USD',
  deployment: undefined,
  key: 'key-1',
  createdAt: 0,
  searchableAt: 0,
  progress: { kind: 'succeeded' },
  refunds: [],
  disputes: [],
};

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

/** The invariants that a write to the invoice violates. */
function violatedBy(before: string, after: string, refunds: LedgerPayment['refunds']): string[] {
  const violated: string[] = [];
  const checks = createStepChecks({
    report: (invariant) => violated.push(invariant),
    provider: () => ({ paymentsOf: () => [{ ...payment, refunds }] }) as unknown as Provider,
    invoice: () => undefined,
    calm: false,
    mayHoldBack: () => true,
    madeByHand: () => false,
    pays: () => true,
    isVoided: () => false,
    claiming() {},
  });
  checks.wrote(invoice(after), invoice(before));
  return violated;
}

test('an invoice is not voided while its payment holds money', () => {
  expect(violatedBy('parked', 'voided', [])).toEqual(['paid means paid']);
  expect(violatedBy('parked', 'voided', [{ ...refunded, status: 'failed' }])).toEqual(['paid means paid']);
  expect(violatedBy('parked', 'voided', [{ ...refunded, status: 'succeeded' }])).toEqual([]);
});

test('one that was voided may be written to once more while the refund of its payment has failed', () => {
  expect(violatedBy('voided', 'voided', [{ ...refunded, status: 'failed' }])).toEqual([]);
  expect(violatedBy('voided', 'voided', [])).toEqual(['paid means paid']);
});
