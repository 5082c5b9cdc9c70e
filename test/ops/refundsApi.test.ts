import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refundIdOf } from '../../src/after/refundInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const place = (id: string) => ({ id, shard: shardOf(id, 4) });
const paid = (id: string, changes: Partial<Invoice> = {}): Partial<Invoice> => ({
  ...place(id),
  status: 'paid',
  amountMinor: 1_000,
  payment: { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_1', paidAt: '2026-01-01T11:00:00.000Z' },
  ...changes,
});

const refund = (id: string, body?: unknown, key: string | undefined = 'key-1') =>
  ops.api.refundInvoice(
    aRequest({
      method: 'POST',
      params: { id },
      body,
      headers: { ...principal, ...(key === '' ? {} : { 'idempotency-key': key }) },
    }),
  );
const shown = async (id: string) => bodyOf(await ops.api.getInvoice(aRequest({ params: { id } })));

async function outboxOf(id: string) {
  const { resources } = await ops.cosmos.containers.invoices.items
    .query<{ body: { resourceId: string }[] }>(`SELECT * FROM c WHERE c.type = 'outboxMessage'`)
    .fetchAll();
  return resources.filter(({ body }) => body.some(({ resourceId }) => resourceId === id));
}

describe('POST ops/invoices/{id}/refund', () => {
  test('requests a refund, orders it in the same transaction, and audits it', async () => {
    await ops.store(paid('refund-part'));
    const response = await refund('refund-part', { amountMinor: 400, reason: 'returned' });
    expect(response.status).toBe(202);
    const refundId = refundIdOf('refund-part', 'key-1');
    expect(bodyOf(response)).toEqual({ refundId, status: 'requested', amountMinor: 400 });
    const at = '2026-01-01T12:00:00.000Z';
    expect(await shown('refund-part')).toMatchObject({
      status: 'paid',
      reversals: {
        refunds: [
          {
            id: refundId,
            amountMinor: 400,
            status: 'requested',
            at,
            by: 'ada@example.com',
            reason: 'returned',
            requestKey: 'key-1',
          },
        ],
        refundedMinor: 400,
        disputedMinor: 0,
      },
      timeline: [{}, { what: 'refund requested', by: 'ada@example.com', refundId, amountMinor: 400 }],
    });
    expect(await outboxOf('refund-part')).toMatchObject([
      {
        destination: 'work-items',
        body: [
          {
            resourceId: 'refund-part',
            stage: 'refund',
            occasion: expect.stringContaining(refundId),
            input: { refundId },
          },
        ],
      },
    ]);
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        actor: 'ada@example.com',
        action: 'refund invoice',
        target: 'refund-part',
        detail: { refundId, amountMinor: 400, reason: 'returned', idempotencyKey: 'key-1' },
      }),
    );
  });

  test('the same request again, even at the same time, is the same refund: one order, one audit record', async () => {
    await ops.store(paid('refund-again'));
    const body = { reason: 'returned' };
    const answers = await Promise.all([1, 2, 3].map(() => refund('refund-again', body)));
    answers.push(await refund('refund-again', body));
    const refundId = refundIdOf('refund-again', 'key-1');
    for (const answer of answers) {
      expect([answer.status, bodyOf(answer)]).toEqual([
        202,
        { refundId, status: 'requested', amountMinor: 1_000 },
      ]);
    }
    expect(await shown('refund-again')).toMatchObject({ reversals: { refundedMinor: 1_000 } });
    expect(await outboxOf('refund-again')).toHaveLength(1);
    expect((await ops.audited()).filter(({ target }) => target === 'refund-again')).toHaveLength(1);
  });

  test('a request whose transaction got no answer is recognised when it is read again', async () => {
    await ops.store(paid('refund-lost'));
    await ops.cosmos.fault({ kind: 'reset-after', count: 1, filter: { operation: 'batch' } });
    const answer = refund('refund-lost', { reason: 'returned' });
    const waiting = new AbortController();
    void answer.finally(() => waiting.abort());
    while (!waiting.signal.aborted) {
      await ops.clock.advance(100);
      await delay(5);
    }
    expect((await answer).status).toBe(202);
    await ops.cosmos.clearFaults();
    expect(await outboxOf('refund-lost')).toHaveLength(1);
    expect(await shown('refund-lost')).toMatchObject({ reversals: { refundedMinor: 1_000 } });
  });

  test('the same key with another amount or reason is a 409, and says what the key stands for', async () => {
    await ops.store(paid('refund-other'));
    await refund('refund-other', { amountMinor: 400, reason: 'returned' });
    for (const body of [
      { amountMinor: 500, reason: 'returned' },
      { amountMinor: 400, reason: 'other' },
      { reason: 'returned' },
    ]) {
      const response = await refund('refund-other', body);
      expect(response.status).toBe(409);
      expect(bodyOf(response)).toMatchObject({
        errors: [
          {
            field: 'Idempotency-Key',
            error: 'expected a new key, or the same request as before: 400, for the reason "returned"',
          },
        ],
      });
    }
    expect(await outboxOf('refund-other')).toHaveLength(1);
  });

  test('of requests at the same time, no more is taken than was paid', async () => {
    await ops.store(paid('refund-race'));
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) => refund('refund-race', { amountMinor: 400, reason: 'returned' }, key)),
    );
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['202', '202', '409', '409']);
    const refused = answers.find(({ status }) => status === 409);
    expect(bodyOf(refused ?? {})).toMatchObject({
      detail: expect.stringMatching(
        /(200|600) is left \(in minor units\) of invoice "refund-race" to refund/,
      ),
    });
    expect(await shown('refund-race')).toMatchObject({ reversals: { refundedMinor: 800 } });
    const rest = await refund('refund-race', { reason: 'the rest' }, 'e');
    expect(rest.status).toBe(202);
    const nothing = await refund('refund-race', { reason: 'more' }, 'f');
    expect(nothing.status).toBe(409);
    expect(bodyOf(nothing)).toMatchObject({
      detail: 'nothing is left of invoice "refund-race" to refund',
    });
  });

  test('that somebody may have made by hand is in the list of what needs a person, who says that it is the same', async () => {
    const at = '2026-01-01T12:00:00.000Z';
    const refundId = refundIdOf('refund-by-hand', 'key-1');
    const requested = { id: refundId, amountMinor: 400, status: 'requested' as const, at, mayBe: 're_1' };
    const byHand = { id: 're_1', providerId: 're_1', amountMinor: 400, status: 'succeeded' as const, at };
    const changes = { reversals: reversalsOf([requested, byHand], []), checkAt: '2099-01-01T00:00:00.000Z' };
    await ops.store(paid('refund-by-hand', changes));
    const listed = await ops.api.listInvoices(aRequest({ query: { undecided: 'true' } }));
    expect(bodyOf(listed)).toMatchObject({
      invoices: expect.arrayContaining([expect.objectContaining({ id: 'refund-by-hand' })]) as unknown,
    });
    const settle = (body: unknown) =>
      ops.api.settleRefund(
        aRequest({ method: 'POST', params: { id: 'refund-by-hand' }, body, headers: principal }),
      );
    const word = { refundId, providerId: 're_1', isSame: true, reason: 'Bob made it' };
    expect((await settle({ ...word, providerId: 're_2' })).status).toBe(409);
    expect((await settle({ ...word, isSame: 'yes' })).status).toBe(400);
    const settled = await settle(word);
    expect(settled.status ?? 200).toBe(200);
    expect(bodyOf(settled)).toMatchObject({
      checkAt: null,
      reversals: {
        refunds: [{ id: refundId, providerId: 're_1', status: 'succeeded' }],
        refundedMinor: 400,
      },
    });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({ action: 'settle refund', target: 'refund-by-hand', detail: word }),
    );
    expect((await settle(word)).status).toBe(409);
  });

  test('an invoice that is not paid is a conflict, and stays unchanged', async () => {
    const invoices = {
      pending: place('refund-pending'),
      claimed: aClaimedInvoice(place('refund-claimed')),
      declined: { ...place('refund-declined'), status: 'declined' as const },
      voided: { ...place('refund-voided'), status: 'voided' as const },
    };
    await ops.store(...Object.values(invoices));
    for (const [status, { id }] of Object.entries(invoices)) {
      const response = await refund(id, { reason: 'returned' });
      expect(response.status).toBe(409);
      expect(bodyOf(response)).toMatchObject({
        detail: `invoice "${id}" is ${status}: expected one that is paid, only those are refunded and others are voided`,
      });
      expect(await shown(id)).toMatchObject({ status, reversals: null, timeline: [{ what: 'imported' }] });
    }
  });

  test('an unknown invoice is 404', async () => {
    expect((await refund('nobody', { reason: 'returned' })).status).toBe(404);
  });

  test.each([
    ['', 'no'],
    ['x'.repeat(256), 'a long'],
  ])('%s: %s Idempotency-Key is a problem of that header', async (key) => {
    await ops.store(paid(`refund-key-${key.length}`));
    const response = await refund(`refund-key-${key.length}`, { reason: 'returned' }, key);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({
      errors: [
        {
          field: 'Idempotency-Key',
          error: 'expected a header of 1 to 255 characters that names this request, and no other',
        },
      ],
    });
  });

  test.each([
    [{}, 'reason'],
    [{ reason: '' }, 'reason'],
    [{ reason: 'x', amountMinor: 0 }, 'amountMinor'],
    [{ reason: 'x', amountMinor: -1 }, 'amountMinor'],
    [{ reason: 'x', amountMinor: 1.5 }, 'amountMinor'],
    [{ reason: 'x', amountMinor: '5' }, 'amountMinor'],
    [{ reason: 'x', amount: 5 }, 'body'],
    ['no json', 'body'],
    [undefined, 'body'],
  ])('%j is a problem of %s', async (body, field) => {
    const response = await refund('refund-part', body, 'key-2');
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field }] });
  });

  test('an amount that the provider does not take is a problem of the amount', async () => {
    await ops.store(paid('refund-kwd', { currency: 'KWD' }));
    const response = await refund('refund-kwd', { reason: 'returned', amountMinor: 15 });
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({
      errors: [{ field: 'amountMinor', error: 'Stripe takes only KWD amounts whose third decimal is 0' }],
    });
  });
});
