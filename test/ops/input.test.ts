import { describe, expect, test } from 'vitest';
import type { Call as DeclaredCall } from '../../src/ops/call.ts';
import { type CallId, callIds, calls } from '../../src/ops/calls.ts';
import { sealed } from '../../src/ops/listPages.ts';
import { aRequest, bodyOf, opsForTests, opsWith, principal } from '../support/opsForTests.ts';

const declared: Readonly<Record<CallId, DeclaredCall>> = calls;
const lists = callIds.filter((id) => 'continuation' in (declared[id].query?.shape ?? {}));

describe.each(lists)('a continuation of %s', (id) => {
  const list = `${declared[id].route} x`;
  const token = Buffer.from('{"shard":"00","id":"a"}').toString('base64url');
  // No part of the app is there: whatever is not refused at once fails.
  const ask = (continuation: string) =>
    opsWith({})[id](aRequest({ params: { id: 'x' }, query: { continuation } }));

  test('is refused at once if it is mutilated, of another list, or made up', async () => {
    const good = sealed(list, token);
    const mutilated = Array.from(
      good,
      (character, at) => good.slice(0, at) + (character === 'A' ? 'B' : 'A') + good.slice(at + 1),
    );
    for (const bad of [
      ...mutilated,
      good.slice(1),
      `${good}A`,
      sealed('ops/another ', token),
      token,
      '',
      '.',
      'ü',
    ]) {
      const response = await ask(bad);
      expect(response.status).toBe(400);
      expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'continuation' }] });
    }
    await expect(ask(good)).rejects.toThrow(TypeError);
  });
});

test('answers, refusals and problems alike are for nobody’s cache, and of no other type than they say', async () => {
  await using ops = await opsForTests();
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  const nobody = { ...principal, 'x-ms-client-principal': Buffer.from('{"claims":[]}').toString('base64') };
  for (const request of [
    aRequest({ headers: principal }),
    aRequest({ headers: nobody }),
    aRequest({ headers: principal, query: { nonsense: '1' } }),
  ]) {
    for (const list of [
      ops.api.listInvoices,
      ops.api.listAudit,
      ops.api.exportInvoices,
      ops.api.getSummary,
    ]) {
      expect((await list(request)).headers).toMatchObject(headers);
    }
  }
});

test.each([undefined, 'no json', '5', '[]', 'null'])(
  'a body %j says which fields are expected',
  async (body) => {
    for (const [id, fields] of [
      ['voidInvoice', '{reason}'],
      ['releaseLock', '{key, expectedOwner, reason}'],
    ] as const) {
      const response = await opsWith({})[id](aRequest({ method: 'POST', params: { id: 'a' }, body }));
      expect(response.status).toBe(400);
      expect(bodyOf(response)).toMatchObject({
        errors: [{ field: 'body', error: `expected a JSON body ${fields}` }],
      });
    }
  },
);

test('fields that are missing say what is expected', async () => {
  const response = await opsWith({}).releaseLock(aRequest({ method: 'POST', body: { reason: ' ' } }));
  expect(bodyOf(response)).toMatchObject({
    errors: [
      { field: 'key', error: 'is missing: expected a key of GET ops/locks' },
      { field: 'expectedOwner', error: 'is missing: expected the owner of the lock in GET ops/locks' },
      { field: 'reason', error: 'expected a reason of 1 to 500 characters, not ""' },
    ],
  });
});

describe('a reason', () => {
  test.each([
    ['\u200b', 'a character that can be seen'],
    ['\u2060 \u3164', 'a character that can be seen'],
    ['\u0301', 'a character that can be seen'],
    ['a\u0000', 'control characters'],
    ['\u001b[31m', 'control characters'],
    ['a\ud800', 'lone surrogates'],
  ])('%j is refused', async (reason, error) => {
    const response = await opsWith({}).voidInvoice(
      aRequest({ method: 'POST', params: { id: 'a' }, body: { reason } }),
    );
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({
      errors: [{ field: 'reason', error: expect.stringContaining(error) }],
    });
  });

  test.each(['x', 'two\nlines', '顧客が取り消した', '🙂', 'cafe\u0301'])('%j is one', async (reason) => {
    const request = aRequest({ method: 'POST', params: { id: 'a' }, body: { reason } });
    await expect(opsWith({}).voidInvoice(request)).rejects.toThrow(TypeError);
  });
});

test('five bulk runs may be open: the next one waits for its caller, a payment run does not', async () => {
  await using ops = await opsForTests();
  const bulk = (key: string) =>
    ops.api.startBulk(
      aRequest({
        method: 'POST',
        body: { action: 'void', filter: { status: 'pending' }, reason: key },
        headers: { ...principal, 'idempotency-key': key },
      }),
      ops.orchestrations,
    );
  const runIds: string[] = [];
  for (const key of ['1', '2', '3', '4', '5']) {
    const response = await bulk(key);
    expect(response.status).toBe(202);
    runIds.push((bodyOf(response) as { runId: string }).runId);
  }
  const refused = await bulk('6');
  expect(refused.status).toBe(409);
  expect(bodyOf(refused)).toMatchObject({ detail: expect.stringContaining('5 bulk runs are open') });
  expect(ops.started).toHaveLength(5);
  // The same request as before is no other run.
  expect((await bulk('5')).status).toBe(202);
  const payments = aRequest({ method: 'POST', body: { job: 'process-invoices' }, headers: principal });
  expect((await ops.api.startRun(payments, ops.orchestrations)).status).toBe(202);
  const cancel = aRequest({ method: 'POST', params: { id: runIds[0] ?? '' }, headers: principal });
  expect((await ops.api.cancelRun(cancel, ops.orchestrations)).status ?? 200).toBe(200);
  expect((await bulk('6')).status).toBe(202);
  // One whose process has died holds up nobody for longer than it takes to be abandoned.
  ops.clock.stall(600_000);
  expect((await bulk('7')).status).toBe(202);
});
