import { describe, expect, test } from 'vitest';
import { invoiceStatuses, type PaymentState } from '../../src/invoice/invoice.ts';
import { invoiceVersion } from '../../src/invoice/invoiceVersion.ts';

const paymentMethod = 'pm_1';
const unused: PaymentState = { keyNumber: 1, declines: 0, deferrals: 0 };
const theirs: PaymentState = { ...unused, keyCreatedAt: '2026-01-01T00:00:00.000Z', paramsHash: 'h' };
const ours: PaymentState = { ...theirs, paramsHash: '2.h' };

describe('what a release up to 0.2.0 gets right stays version 1', () => {
  test.each(['claimed', 'parked', 'paid', 'declined'] as const)(
    'an invoice with a key of theirs: %s',
    (status) => {
      expect(invoiceVersion({ status, paymentMethod, payment: theirs })).toBe(1);
    },
  );

  test.each(['paid', 'declined'] as const)('an invoice whose key is done with: %s', (status) => {
    expect(invoiceVersion({ status, paymentMethod, payment: ours })).toBe(1);
  });
});

describe('what it would get wrong is version 2', () => {
  test.each(['pending', 'claimed', 'parked'] as const)('a live key of ours: %s', (status) => {
    expect(invoiceVersion({ status, paymentMethod, payment: ours })).toBe(2);
  });

  test.each(['processing', 'voided'] as const)('a status that it does not know: %s', (status) => {
    expect(invoiceVersion({ status, paymentMethod, payment: theirs })).toBe(2);
  });

  test.each(invoiceStatuses)('an invoice without a payment method: %s', (status) => {
    expect(invoiceVersion({ status, payment: theirs })).toBe(2);
  });

  test('a payment method that a person gave: it would charge the old one', () => {
    const payment: PaymentState = { ...theirs, method: { id: 'pm_2', from: 'retry' } };
    expect(invoiceVersion({ status: 'declined', paymentMethod, payment })).toBe(2);
    expect(invoiceVersion({ status: 'paid', paymentMethod, payment })).toBe(1);
  });
});
