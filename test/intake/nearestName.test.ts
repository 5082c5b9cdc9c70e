import { expect, test } from 'vitest';
import { nearestName } from '../../src/intake/nearestName.ts';

const known = ['id', 'customerId', 'amount', 'dueAt', 'paymentMethod'];

test.each([
  ['ID', 'id'],
  ['customer', 'customerId'],
  ['customer_id', 'customerId'],
  ['amountMinor', 'amount'],
  ['ammount', 'amount'],
  ['dueat', 'dueAt'],
  ['payment method', 'paymentMethod'],
  ['paymentMehtod', 'paymentMethod'],
  ['colour', undefined],
  ['', undefined],
  ['__', undefined],
  ['x'.repeat(100_000), undefined],
])('%j suggests %s', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});
