import { afterAll, beforeAll, expect, test } from 'vitest';
import { cosmosInvoiceCounts } from '../../../src/invoice/store/cosmosInvoiceCounts.ts';
import { type OpsForTests, opsForTests } from '../../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
  const paid = (id: string, paidAt: string) => ({
    id,
    status: 'paid' as const,
    payment: { keyNumber: 1, declines: 0, deferrals: 0, id: `pi_${id}`, paidAt },
  });
  await ops.store(
    { id: 'a', status: 'parked', reason: 'unclear' },
    { id: 'b', status: 'parked', reason: 'unclear', shard: '01' },
    { id: 'c', status: 'parked', reason: 'bad request' },
    { id: 'd', status: 'declined', reason: 'unclear' },
    paid('e', '2026-01-01T10:00:00.000Z'),
    paid('f', '2026-01-01T10:59:59.999Z'),
    paid('g', '2026-01-01T11:30:00.000Z'),
    paid('h', '2026-01-01T12:00:00.000Z'),
  );
});
afterAll(() => ops[Symbol.asyncDispose]());

test('parked invoices are counted by reason, over all shards', async () => {
  const counts = cosmosInvoiceCounts(ops.cosmos.containers.invoices);
  expect(await counts.parkedByReason()).toEqual(
    new Map([
      ['unclear', 2],
      ['bad request', 1],
    ]),
  );
});

test('payments are counted by the hour in which they were recorded', async () => {
  const counts = cosmosInvoiceCounts(ops.cosmos.containers.invoices);
  const day = { from: '2026-01-01T10:00:00.000Z', to: '2026-01-01T12:00:00.000Z' };
  expect(await counts.paidByHour(day)).toEqual(
    new Map([
      ['2026-01-01T10', 2],
      ['2026-01-01T11', 1],
    ]),
  );
});
