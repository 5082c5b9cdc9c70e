import { beforeAll, expect, test } from 'vitest';
import { standingId } from '../../src/invoice/counters/counters.ts';
import { shardNames } from '../../src/invoice/shard.ts';
import { aRequest, bodyOf, opsForTests } from '../support/opsForTests.ts';

let ops: Awaited<ReturnType<typeof opsForTests>>;
beforeAll(async () => {
  ops = await opsForTests();
  return () => ops.cosmos[Symbol.asyncDispose]();
});
const recount = (body: unknown) => ops.api.recountFigures(aRequest({ method: 'POST', body }));

test('it says what was wrong, and the audit who asked for it', async () => {
  await ops.api.importInvoices(
    aRequest({
      method: 'POST',
      body: ['a', 'b', 'c', 'd'].map((id) => ({
        id,
        customerId: 'cus-1',
        amountMinor: 100,
        currency: 'EUR',
        dueAt: '2026-02-01T00:00:00Z',
        paymentMethod: 'pm_card_visa',
      })),
    }),
  );
  const { invoices } = ops.cosmos.containers;
  const { resources } = await invoices.items
    .query<{ shard: string }>(`SELECT c.shard FROM c WHERE c.type = 'invoice'`)
    .fetchAll();
  const shard = resources[0]?.shard ?? '';
  const wrong = [{ op: 'incr' as const, path: '/counts/pending', value: 5 }];
  await invoices.item(standingId, shard).patch(wrong);
  expect((await ops.api.getSummary(aRequest({}))).jsonBody).toMatchObject({ invoices: { pending: 9 } });
  const { jsonBody } = await recount({ reason: 'the summary looks wrong' });
  const [correction] = (jsonBody as { corrections: { was: number; is: number }[] }).corrections;
  expect(jsonBody).toMatchObject({ shards: 4, invoices: 4, corrected: 1, busy: [], left: [] });
  expect(correction).toMatchObject({ shard, day: null, figure: 'pending' });
  expect((correction?.was ?? 0) - (correction?.is ?? 0)).toBe(5);
  expect((await ops.api.getSummary(aRequest({}))).jsonBody).toMatchObject({ invoices: { pending: 4 } });
  const { jsonBody: audit } = await ops.api.listAudit(aRequest({ query: { day: '2026-01-01' } }));
  expect(JSON.stringify(audit)).toContain(
    '"action":"recount figures","target":"figures","detail":{"reason":"the summary looks wrong","shards":4,"invoices":4,"corrected":1}',
  );
});

test('of some shards', async () => {
  expect((await recount({ reason: 'x', shards: shardNames(4).slice(0, 2) })).jsonBody).toMatchObject({
    shards: 2,
  });
});

test.each([
  [{}, 'reason'],
  [{ reason: 'x', shards: ['ff'] }, 'expected shards from \\"00\\" to \\"03\\", got \\"ff\\"'],
  [{ reason: 'x', shards: [] }, 'shards'],
  [{ reason: 'x', shard: '00' }, 'shard'],
])('%j is a bad request', async (body, problem) => {
  const answer = await recount(body);
  expect(answer.status).toBe(400);
  expect(JSON.stringify(bodyOf(answer))).toContain(problem);
});
