import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../src/invoice/shard.ts';
import type { Call as DeclaredCall } from '../../src/ops/call.ts';
import { type CallId, callIds, calls } from '../../src/ops/calls.ts';
import {
  aRequest,
  bodyOf,
  type Call,
  type OpsForTests,
  opsForTests,
  principal,
} from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const declared: Readonly<Record<CallId, DeclaredCall>> = calls;
const taking = callIds.filter((id) => declared[id].idempotencyKey !== undefined);

/** A request for each call that takes a key, and others that the same key must not stand for. `n` keeps tests apart. */
const asking: Partial<Record<CallId, (n: string) => { first: Call; others: Call[] }>> = {
  startRun: () => ({
    first: { body: { job: 'process-invoices' } },
    others: [
      { body: { job: 'process-invoices', dryRun: true } },
      { body: { job: 'process-invoices', groups: ['0'] } },
    ],
  }),
  startBulk: (n) => {
    const body = { action: 'void', filter: { status: 'pending' }, reason: n };
    return {
      first: { body },
      others: [{ body: { ...body, action: 'retry' } }, { body: { ...body, cap: 1 } }],
    };
  },
  refundInvoice: (n) => {
    const body = { amountMinor: 100, reason: n };
    return {
      first: { params: { id: `paid-${n}` }, body },
      others: [
        { params: { id: `paid-${n}` }, body: { ...body, amountMinor: 200 } },
        { params: { id: `paid-${n}` }, body: { ...body, reason: 'another' } },
      ],
    };
  },
};

async function ask(id: CallId, request: Call | undefined, key: string) {
  const { method } = declared[id];
  const headers = { ...principal, 'idempotency-key': key };
  return ops.api[id](aRequest({ ...request, method, headers }), ops.orchestrations);
}

async function prepared(id: CallId, n: string) {
  const paidAt = '2026-01-01T09:00:00.000Z';
  const payment = { keyNumber: 1, declines: 0, deferrals: 0, id: `pi-${n}`, paidAt };
  const invoiceId = `paid-${n}`;
  await ops.store({
    id: invoiceId,
    shard: shardOf(invoiceId, 4),
    status: 'paid',
    payment,
    amountMinor: 1_000,
  });
  const requests = asking[id]?.(n);
  if (requests === undefined) throw new Error(`no request for ${id}`);
  return requests;
}

test('each call that takes a key is asked for here', () => {
  expect(Object.keys(asking).toSorted()).toEqual(taking.toSorted());
});

describe.each(taking)('%s', (id) => {
  test.each(taking)('does what it says under a key that %s has had', async (before) => {
    const n = `${id}-after-${before}`;
    const other = id === before ? undefined : await prepared(before, `${n}-before`);
    const own = await prepared(id, n);
    if (other !== undefined) expect((await ask(before, other.first, n)).status).toBe(202);
    const started = ops.started.length;
    const answer = await ask(id, own.first, n);
    expect(answer.status).toBe(202);
    expect(ops.started.length).toBe(id === 'refundInvoice' ? started : started + 1);
    expect(bodyOf(await ask(id, own.first, n))).toEqual(bodyOf(answer));
    expect(ops.started.length).toBe(id === 'refundInvoice' ? started : started + 1);
    for (const request of own.others) {
      const refused = await ask(id, request, n);
      expect(refused.status).toBe(409);
      expect(bodyOf(refused)).toMatchObject({
        detail: 'This Idempotency-Key stands for another request.',
        errors: [{ field: 'Idempotency-Key' }],
      });
    }
  });

  test.each([[''], ['  ']])('refuses the blank key %j', async (key) => {
    const { first } = await prepared(id, `${id}-${key.length}`);
    const response = await ask(id, first, key);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'Idempotency-Key' }] });
  });
});

test('the same key for the rest of another run is refused', async () => {
  const idOf = async (key: string) =>
    (bodyOf(await ask('startRun', { body: { job: 'process-invoices' } }, key)) as { runId: string }).runId;
  const [one, other] = [await idOf('one'), await idOf('other')];
  for (const runId of [one, other]) {
    await ops.runs.end(
      { job: 'process-invoices', runId },
      { status: 'failed', at: new Date(ops.clock.now()).toISOString() },
    );
  }
  const resume = (runId: string) =>
    ask('startRun', { body: { job: 'process-invoices', resume: runId } }, 'rest');
  expect((await resume(one)).status).toBe(202);
  expect((await resume(one)).status).toBe(202);
  expect((await resume(other)).status).toBe(409);
});
