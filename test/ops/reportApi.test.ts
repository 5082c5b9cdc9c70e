import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
const largest = Number.MAX_SAFE_INTEGER;
const paid = (paidAt: string) => ({
  status: 'paid' as const,
  payment: { ...anInvoice().payment, id: 'pi_1', paidAt },
});
beforeAll(async () => {
  ops = await opsForTests();
  const dispute = { amountMinor: 700, reason: 'fraudulent' };
  await ops.store(
    { id: 'a', ...paid('2025-12-30T23:59:59.999Z') },
    { id: 'b', ...paid('2025-12-31T00:00:00.000Z'), amountMinor: 1, shard: '01' },
    {
      id: 'c',
      ...paid('2026-01-01T08:00:00.000Z'),
      amountMinor: 1000,
      reversals: reversalsOf(
        [{ id: 'r', amountMinor: 300, status: 'pending', at: '2026-01-01T11:00:00.000Z' }],
        [
          { id: 'd1', ...dispute, status: 'open', at: '2026-01-01T09:00:00.000Z' },
          { id: 'd2', ...dispute, status: 'lost', at: '2026-01-01T09:30:00.000Z' },
        ],
      ),
    },
    { id: 'e', ...paid('2026-01-01T08:00:00.000Z'), currency: 'JPY', amountMinor: largest },
    { id: 'f', ...paid('2026-01-01T08:00:00.000Z'), currency: 'JPY', amountMinor: largest, shard: '01' },
    { id: 'g', status: 'declined', declinedAt: '2026-01-01T10:00:00.000Z', amountMinor: 55 },
  );
});
afterAll(() => ops[Symbol.asyncDispose]());

const report = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  ops.api.getReport(aRequest({ query, headers }));
const none = { count: 0, amountMinor: 0 };
const newYear = {
  day: '2026-01-01',
  currency: 'USD',
  paid: { count: 1, amountMinor: 1000 },
  declined: { count: 1, amountMinor: 55 },
  refunded: { count: 1, amountMinor: 300 },
  disputed: { count: 2, amountMinor: 1400 },
  disputeLost: { count: 1, amountMinor: 700 },
};

test('totals per day and currency, and that fees are not in them', async () => {
  const response = await report({ from: '2025-12-31', to: '2026-01-01', currency: 'USD' });
  expect(response.status).toBeUndefined();
  expect(bodyOf(response)).toEqual({
    from: '2025-12-31',
    to: '2026-01-01',
    currency: 'USD',
    unreadable: 0,
    feesIncluded: false,
    days: [
      {
        day: '2025-12-31',
        currency: 'USD',
        paid: { count: 1, amountMinor: 1 },
        declined: none,
        refunded: none,
        disputed: none,
        disputeLost: none,
      },
      newYear,
    ],
    totals: [
      {
        currency: 'USD',
        paid: { count: 2, amountMinor: 1001 },
        declined: { count: 1, amountMinor: 55 },
        refunded: { count: 1, amountMinor: 300 },
        disputed: { count: 2, amountMinor: 1400 },
        disputeLost: { count: 1, amountMinor: 700 },
      },
    ],
  });
});

test('without days, it is of the last 30', async () => {
  expect(bodyOf(await report({}))).toMatchObject({ from: '2025-12-03', to: '2026-01-01', currency: null });
});

describe('as CSV', () => {
  test('if the caller accepts it', async () => {
    const response = await report({ from: '2026-01-01', to: '2026-01-01' }, { accept: 'text/csv' });
    expect(response.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      vary: 'Accept',
    });
    expect(response.body).toBe(
      [
        'day,currency,paidCount,paidMinor,declinedCount,declinedMinor,refundedCount,refundedMinor,disputedCount,disputedMinor,disputeLostCount,disputeLostMinor,feesIncluded,paid,declined,refunded,disputed,disputeLost',
        `2026-01-01,JPY,2,${2 * largest},0,0,0,0,0,0,0,0,false,,0,0,0,0`,
        '2026-01-01,USD,1,1000,1,55,1,300,2,1400,1,700,false,10.00,0.55,3.00,14.00,7.00',
        '',
      ].join('\r\n'),
    );
  });

  test.each([
    ['text/csv', true],
    ['TEXT/CSV', true],
    ['text/csv, */*', true],
    ['application/json, text/csv', false],
    ['*/*', false],
    ['', false],
  ])('with Accept: %s %s', async (accept, csv) => {
    const { body } = await report({ from: '2026-01-01' }, { accept });
    expect(typeof body === 'string' && body.startsWith('day,currency')).toBe(csv);
  });
});

test.each([
  [{ from: 'yesterday' }, 'from', /a day as YYYY-MM-DD, got "yesterday"/],
  [{ from: '2026-02-30' }, 'from', /YYYY-MM-DD/],
  [{ from: '2026-01-01T00:00:00Z' }, 'from', /a day as YYYY-MM-DD, got "2026-01-01T00:00:00Z"/],
  [{ to: '2026-01-01T00:00:00.000Z' }, 'to', /YYYY-MM-DD/],
  [{ from: '2026-01-02', to: '2026-01-01' }, 'to', /not before "from"/],
  [{ from: '2024-12-31', to: '2026-01-01' }, 'from', /at most 366 days/],
  [{ currency: 'XXX' }, 'currency', /ISO 4217/],
  [{ format: 'csv' }, 'format', /unknown parameter/],
])('%j is a problem of %s', async (query, field, error) => {
  const response = await report(query);
  expect(response.status).toBe(400);
  expect(bodyOf(response)).toMatchObject({ errors: [{ field, error: expect.stringMatching(error) }] });
});

test('366 days are not too many', async () => {
  expect((await report({ from: '2025-01-01', to: '2026-01-01' })).status).toBeUndefined();
});

test('the first page of the dashboard shows what was paid on each of the last 14 days', async () => {
  const { paidPerDay } = bodyOf(await ops.api.getOverview(aRequest())) as {
    paidPerDay: { day: string; count: number }[];
  };
  expect(paidPerDay).toHaveLength(14);
  expect(paidPerDay[0]).toEqual({ day: '2025-12-19', count: 0 });
  expect(paidPerDay.slice(-3)).toEqual([
    { day: '2025-12-30', count: 1 },
    { day: '2025-12-31', count: 1 },
    { day: '2026-01-01', count: 3 },
  ]);
});
