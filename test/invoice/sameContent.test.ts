import { expect, test } from 'vitest';
import type { InvoiceContent, NewInvoice } from '../../src/invoice/invoice.ts';
import { newInvoice } from '../../src/invoice/store/invoiceWrites.ts';
import { sameContent } from '../../src/invoice/tombstone.ts';

const content: InvoiceContent = {
  id: 'inv-1',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2026-01-31T12:00:00.000Z',
  paymentMethod: 'pm_card_visa',
  description: 'Hosting',
};

test('a stored invoice keeps the content it was created from, whatever happened to it since', () => {
  const stored = newInvoice(content, { shard: '00', at: '2026-01-01T00:00:00.000Z', by: 'test' });
  const paid: NewInvoice = { ...stored, status: 'paid', attempts: 3 };
  expect(sameContent(paid, content)).toBe(true);
});

test.each([
  { id: 'inv-2' },
  { customerId: 'cus_2' },
  { amountMinor: 2000 },
  { currency: 'EUR' },
  { dueAt: '2026-01-31T12:00:00.001Z' },
  { paymentMethod: 'pm_card_mastercard' },
  { description: 'hosting' },
])('%j is other content', (change) => {
  expect(sameContent(content, { ...content, ...change })).toBe(false);
  expect(sameContent({ ...content, ...change }, content)).toBe(false);
});

test('no description and a description are different content', () => {
  const { description: _, ...without } = content;
  expect(sameContent(content, without)).toBe(false);
  expect(sameContent(without, { ...without })).toBe(true);
});
