import { expect, test } from 'vitest';
import { type Evidence, violations } from './audit.ts';

const adding: Evidence = {
  invoices: [
    {
      id: 'inv-1',
      status: 'paid',
      amountMinor: 100,
      currency: 'USD',
      timeline: [{ what: 'paid', by: 'host' }],
    },
  ],
  charges: [{ invoiceId: 'inv-1', amount: 100, currency: 'usd' }],
  receipts: ['inv-1/pi_1.json'],
  effects: 1,
  outbox: { pending: 0, parked: 0 },
  paymentCommands: { active: 0, scheduled: 0, locked: 0, deadLettered: 0, abandoned: 0 },
  workItems: { queued: 0, poison: 0 },
};

test('consistent evidence has no violations', () => {
  expect(violations(adding)).toEqual([]);
});

test.each<[string, Partial<Evidence>]>([
  ['a dead letter', { paymentCommands: { ...adding.paymentCommands, deadLettered: 1 } }],
  ['a poison work item', { workItems: { queued: 0, poison: 1 } }],
  ['a parked outbox message', { outbox: { pending: 0, parked: 1 } }],
  ['a missing receipt', { receipts: [] }],
  ['a second receipt', { receipts: ['inv-1/pi_1.json', 'inv-1/pi_2.json'] }],
  ['an effect without a receipt', { effects: 2 }],
  ['a second charge', { charges: [...adding.charges, ...adding.charges] }],
  ['no charge', { charges: [] }],
  ['another amount', { charges: [{ invoiceId: 'inv-1', amount: 99, currency: 'usd' }] }],
])('%s is a violation', (_, change) => {
  expect(violations({ ...adding, ...change })).toHaveLength(1);
});
