import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../src/invoice/shard.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const place = (id: string) => ({ id, shard: shardOf(id, 4) });
const retry = (id: string, body?: unknown) =>
  ops.api.retryInvoice(aRequest({ method: 'POST', params: { id }, body, headers: principal }));

describe('POST ops/invoices/{id}/retry', () => {
  test.each([
    ['declined', 2],
    ['parked', 1],
  ] as const)(
    'a %s invoice is pending again, due now, with key number %i, and the retry is audited',
    async (status, keyNumber) => {
      const id = `retry-${status}`;
      const payment = { keyNumber: 1, keyCreatedAt: '2026-01-01T11:00:00.000Z', declines: 1, deferrals: 0 };
      await ops.store({ ...place(id), status, reason: 'why', attempts: 5, payment });
      const response = await retry(id, { reason: 'card renewed' });
      expect(response.status ?? 200).toBe(200);
      expect(bodyOf(response)).toMatchObject({
        id,
        status: 'pending',
        actionableAt: '2026-01-01T12:00:00.000Z',
        attempts: 0,
        reason: null,
        payment: { keyNumber },
        timeline: [
          { what: 'imported' },
          { what: 'retried', by: 'ada@example.com', from: status, keyNumber, reason: 'card renewed' },
        ],
      });
      expect(await ops.audited()).toContainEqual(
        expect.objectContaining({
          actor: 'ada@example.com',
          action: 'retry invoice',
          target: id,
          detail: { from: status, keyNumber, notCharged: false, reason: 'card renewed' },
        }),
      );
    },
  );

  test('notCharged gives a parked invoice a new key, and needs a reason', async () => {
    const payment = { keyNumber: 1, keyCreatedAt: '2026-01-01T11:00:00.000Z', declines: 0, deferrals: 0 };
    await ops.store({ ...place('retry-sure'), status: 'parked', payment });
    const bare = await retry('retry-sure', { notCharged: true });
    expect(bare.status).toBe(400);
    expect(bodyOf(bare)).toMatchObject({
      errors: [{ field: 'reason', error: 'expected how it was found out that nothing was charged' }],
    });
    expect((await retry('retry-sure', { notCharged: false, reason: 'x' })).status).toBe(400);
    const vouched = await retry('retry-sure', { notCharged: true, reason: 'not in the provider’s list' });
    expect(bodyOf(vouched)).toMatchObject({
      payment: { keyNumber: 2 },
      timeline: [{}, { what: 'retried', keyNumber: 2, notCharged: true }],
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        target: 'retry-sure',
        detail: expect.objectContaining({ notCharged: true }),
      }),
    );
  });

  test('no body means no reason', async () => {
    await ops.store({ ...place('retry-bare'), status: 'parked' });
    expect(bodyOf(await retry('retry-bare'))).toMatchObject({ status: 'pending' });
    expect((await ops.audited()).find(({ target }) => target === 'retry-bare')).toMatchObject({
      detail: { reason: null },
    });
  });

  test('one that waits for a later try is due now, with its key, attempts and schedule as they are', async () => {
    const payment = { keyNumber: 2, declines: 1, deferrals: 3, keyCreatedAt: '2026-01-01T09:00:00.000Z' };
    const waiting = { status: 'pending' as const, dueAt: '2026-01-01T00:00:00.000Z', attempts: 2, payment };
    await ops.store({ ...place('retry-waiting'), ...waiting, actionableAt: '2026-01-03T12:00:00.000Z' });
    expect(bodyOf(await retry('retry-waiting', { reason: 'the outage is over' }))).toMatchObject({
      status: 'pending',
      actionableAt: '2026-01-01T12:00:00.000Z',
      attempts: 2,
      payment,
      timeline: [
        expect.anything(),
        {
          what: 'made due now',
          from: '2026-01-03T12:00:00.000Z',
          by: expect.any(String) as unknown,
          reason: 'the outage is over',
        },
      ],
    });
    const again = await retry('retry-waiting');
    expect(again.status).toBe(409);
    const other = { ...place('retry-early'), ...waiting };
    await ops.store({
      ...other,
      dueAt: '2026-02-01T00:00:00.000Z',
      actionableAt: '2026-02-01T00:00:00.000Z',
    });
    expect((await retry('retry-early')).status).toBe(409);
  });

  test('a pending, claimed or paid invoice is a conflict, and stays unchanged', async () => {
    const invoices = {
      pending: place('retry-pending'),
      claimed: aClaimedInvoice(place('retry-claimed')),
      paid: { ...place('retry-paid'), status: 'paid' as const },
    };
    await ops.store(...Object.values(invoices));
    const audits = (await ops.audited()).length;
    for (const [status, { id }] of Object.entries(invoices)) {
      const response = await retry(id);
      expect(response.status).toBe(409);
      expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining(`is ${status}`) });
      const after = bodyOf(await ops.api.getInvoice(aRequest({ params: { id } })));
      expect(after).toMatchObject({ status, timeline: [{ what: 'imported' }] });
    }
    expect(await ops.audited()).toHaveLength(audits);
  });

  test('a second retry with a payment method says that the invoice is charged anyway', async () => {
    await ops.store({ ...place('retry-twice'), status: 'parked' });
    expect((await retry('retry-twice')).status ?? 200).toBe(200);
    const second = await retry('retry-twice', { paymentMethod: 'pm_new' });
    expect(second.status).toBe(409);
    expect(bodyOf(second)).toMatchObject({
      detail: expect.stringContaining('it will be charged at the next run'),
    });
  });

  test('an unknown invoice is 404', async () => {
    expect((await retry('nobody')).status).toBe(404);
  });

  test.each([
    [{ reason: '' }, 'reason'],
    [{ reason: 5 }, 'reason'],
    [{ why: 'x' }, 'body'],
    ['no json', 'body'],
  ])('%j is a problem of %s', async (body, field) => {
    const response = await retry('retry-declined', body);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field }] });
  });
});
