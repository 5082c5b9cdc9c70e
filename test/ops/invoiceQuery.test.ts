import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages, aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
  await ops.store(
    { id: 'a', customerId: 'cus one', currency: 'EUR', dueAt: '2026-01-01T00:00:00.000Z', shard: '03' },
    { id: 'b', customerId: 'cus one', currency: 'USD', dueAt: '2026-01-01T12:00:00.000Z', shard: '00' },
    { id: 'c', customerId: 'cus-2', currency: 'EUR', dueAt: '2026-01-02T00:00:00.000Z', status: 'paid' },
  );
});
afterAll(() => ops[Symbol.asyncDispose]());

test.each([
  [{}, ['a', 'b', 'c']],
  [{ customer: 'cus one' }, ['a', 'b']],
  [{ customer: 'nobody' }, []],
  [{ currency: 'EUR' }, ['a', 'c']],
  [{ currency: 'EUR', status: 'paid' }, ['c']],
  [{ dueAfter: '2026-01-01T13:00:00+01:00' }, ['b', 'c']],
  [{ dueBefore: '2026-01-01T13:00:00+01:00' }, ['a']],
  [{ dueAfter: '2026-01-01T00:00:00Z', dueBefore: '2026-01-02T00:00:00Z' }, ['a', 'b']],
  [{ code: 'the key', clientId: 'default' }, ['a', 'b', 'c']],
])('%j lists %j', async (query, ids) => {
  const pages = await allPages(ops.api.listInvoices, 'invoices', query);
  expect(
    pages
      .flat()
      .map(({ id }) => id)
      .toSorted((a, b) => String(a).localeCompare(String(b))),
  ).toEqual(ids);
});

test.each([
  [{ currency: 'eur' }, 'currency', /ISO 4217 .*"eur"/],
  [{ currency: '' }, 'currency', /ISO 4217/],
  [{ customer: '' }, 'customer', /expected the id/],
  [{ status: 'open' }, 'status', /pending, claimed, .*"open"/],
  [{ dueAfter: '2026-01-01' }, 'dueAfter', /UTC offset.*"2026-01-01"/],
  [{ dueAfter: '2026-01-01T00:00:00' }, 'dueAfter', /UTC offset/],
  [{ dueBefore: '2026-13-01T00:00:00Z' }, 'dueBefore', /UTC offset/],
  [{ dueBefore: '2026-01-01T00:00:00 02:00' }, 'dueBefore', /%2B/],
  [{ dueBefore: '9999-12-31T23:59:59-14:00' }, 'dueBefore', /1970 to 9999/],
  [{ dueBefor: '2026-01-01T00:00:00Z' }, 'dueBefor', /expected one of .*dueBefore/],
  [{ pageSize: '5' }, 'pageSize', /unknown parameter: expected one of customer, .*continuation/],
  [{ continuation: 'x' }, 'continuation', /earlier page/],
])('%j is a problem of %s', async (query, field, error) => {
  const response = await ops.api.listInvoices(aRequest({ query }));
  expect(response.status).toBe(400);
  expect(bodyOf(response)).toMatchObject({ errors: [{ field, error: expect.stringMatching(error) }] });
});

test('all that is wrong is named at once', async () => {
  const response = await ops.api.listInvoices(aRequest({ query: { currency: 'X', dueAfter: 'y', z: '' } }));
  const { errors } = bodyOf(response) as { errors: { field: string }[] };
  expect(errors.map(({ field }) => field)).toEqual(['z', 'currency', 'dueAfter']);
});

test('a parameter that is there twice is refused, because only one could count', async () => {
  const response = await ops.api.listInvoices({
    query: new URLSearchParams('status=paid&status=parked'),
    headers: new Headers(),
    params: {},
  });
  expect(bodyOf(response)).toMatchObject({
    errors: [{ field: 'status', error: 'is there twice: expected once' }],
  });
});

test.each(['listOutbox', 'listRuns', 'listAudit', 'getSummary', 'getInvoice', 'listLocks'] as const)(
  '%s refuses an unknown parameter',
  async (call) => {
    const response = await ops.api[call](aRequest({ query: { statu: 'x' } }));
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'statu' }] });
  },
);
