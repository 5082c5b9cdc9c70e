import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const bulk = (body: unknown, key: string | undefined = crypto.randomUUID()) =>
  ops.api.startBulk(
    aRequest({
      method: 'POST',
      body,
      headers: { ...principal, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    }),
    ops.orchestrations,
  );
const wanted = { action: 'retry', filter: { status: 'parked', reason: 'no answer' }, reason: 'over' };

describe('POST ops/bulk', () => {
  test('starts one run per key, which says what was asked for, and is audited once', async () => {
    const first = await bulk({ ...wanted, cap: 10 }, 'key-1');
    expect(first.status).toBe(202);
    const { runId } = bodyOf(first) as { runId: string };
    expect(first.headers).toMatchObject({ location: `/api/ops/runs/${runId}` });
    expect(bodyOf(await bulk({ ...wanted, cap: 10 }, 'key-1'))).toEqual({ runId, status: 'running' });
    expect(ops.started).toMatchObject([
      { instanceId: runId, input: { job: 'bulk', groups: ['invoices'], dryRun: false, untilDone: true } },
    ]);
    const run = await ops.api.getRun(aRequest({ params: { id: runId } }));
    expect(bodyOf(run)).toMatchObject({
      runId,
      job: 'bulk',
      request: {
        action: 'retry',
        filter: { status: 'parked', reason: 'no answer' },
        reason: 'over',
        cap: 10,
        actor: 'ada@example.com',
      },
    });
    const list = await ops.api.listRuns(aRequest({ query: { job: 'bulk' } }));
    expect(bodyOf(list)).toMatchObject({ runs: [{ runId }] });
    expect(await ops.audited()).toMatchObject([
      {
        actor: 'ada@example.com',
        action: 'start bulk',
        target: `bulk/${runId}`,
        detail: { reason: 'over', cap: 10, dryRun: false, filter: JSON.stringify(wanted.filter) },
      },
    ]);
    const cancel = await ops.api.cancelRun(
      aRequest({ method: 'POST', params: { id: runId }, body: { reason: 'wrong filter' } }),
      ops.orchestrations,
    );
    expect(bodyOf(cancel)).toMatchObject({ runId, status: 'cancelled' });
    expect(ops.terminated).toMatchObject([{ instanceId: runId }]);
  });

  test('a process that dies before it has recorded the start leaves that to the repetition', async () => {
    const response = await bulk(wanted, 'key-dies');
    const { runId } = bodyOf(response) as { runId: string };
    const startOf = async () => (await ops.audited()).filter(({ target }) => target === `bulk/${runId}`);
    const [recorded] = await startOf();
    const { audit } = ops.cosmos.containers;
    await audit.item(runId, String(recorded?.day)).delete();
    expect(await startOf()).toEqual([]);
    ops.clock.stall(2 * 86_400_000);
    for (let times = 0; times < 2; times++) await bulk(wanted, 'key-dies');
    const { intent, at } = z.object({ intent: z.string(), at: z.string() }).parse(recorded);
    expect(await startOf()).toMatchObject([{ action: 'start bulk', actor: 'ada@example.com', at }]);
    expect(await startOf()).not.toMatchObject([{ intent }]);
  });

  test('another request under the same key is a 409', async () => {
    expect((await bulk(wanted, 'key-2')).status).toBe(202);
    for (const other of [
      { ...wanted, action: 'void' },
      { ...wanted, dryRun: true },
      { ...wanted, cap: 1 },
      { ...wanted, filter: { status: 'declined' } },
      { ...wanted, reason: 'another' },
    ]) {
      expect((await bulk(other, 'key-2')).status).toBe(409);
    }
  });

  test('messages are worked on beside invoices', async () => {
    const body = {
      action: 'redrive',
      filter: { from: 'dead-letters', queue: 'work-items' },
      reason: 'fixed',
    };
    const { runId } = bodyOf(await bulk(body)) as { runId: string };
    expect(ops.started.find(({ instanceId }) => instanceId === runId)).toMatchObject({
      input: { groups: ['messages'] },
    });
  });

  test.each<[unknown, string, string]>([
    [{ ...wanted, action: 'pay' }, 'action', 'retry, void, redrive, discard'],
    [{ ...wanted, filter: {} }, 'filter.status', 'expected one of parked, declined, pending'],
    [{ ...wanted, filter: { status: 'paid' } }, 'filter.status', 'got "paid"'],
    [{ ...wanted, filter: { status: 'parked', customers: 'x' } }, 'filter', 'customers'],
    [{ ...wanted, filter: { status: 'parked', currency: 'XXQ' } }, 'filter.currency', 'ISO 4217'],
    [{ ...wanted, filter: { status: 'parked', before: 'noon' } }, 'filter.before', 'expected a time'],
    [{ action: 'retry', filter: { status: 'parked' } }, 'reason', 'expected a reason of 1 to 500 characters'],
    [{ ...wanted, cap: 0 }, 'cap', '>=1'],
    [
      { ...wanted, action: 'redrive', filter: { queue: 'work-items' } },
      'filter.from',
      'outbox, dead-letters',
    ],
    [{ ...wanted, all: true }, 'body', 'all'],
  ])('%j: 400 that names the field', async (body, field, error) => {
    const response = await bulk(body);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({
      errors: [{ field, error: expect.stringContaining(error) as unknown }],
    });
  });

  test.each([undefined, ' '])('without an Idempotency-Key (%j) it starts nothing', async (key) => {
    const before = ops.started.length;
    const response = await ops.api.startBulk(
      aRequest({
        method: 'POST',
        body: wanted,
        headers: key === undefined ? {} : { 'idempotency-key': key },
      }),
      ops.orchestrations,
    );
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'Idempotency-Key' }] });
    expect(ops.started).toHaveLength(before);
  });
});
