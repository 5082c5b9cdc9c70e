// Layers that keep a refund from being made twice or freed wrongly, each with the others off.

import { describe, expect, test } from 'vitest';
import type { Operation } from '../../packages/jobs/src/documents/documentStore.ts';
import { RetryLater } from '../../packages/jobs/src/workItems/nextTry.ts';
import { record } from '../../src/after/record.ts';
import { refundStage, refusedRefund } from '../../src/after/refundStage.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { type Refund, reversalsOf } from '../../src/invoice/reversals.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import type { PaymentProvider, RefundRequest } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { type MemoryDocumentsOptions, memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { emptyProvider } from '../support/emptyProvider.ts';
import { followUpsForTests } from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { restlessClock } from '../support/restlessClock.ts';
import { unpaced } from '../support/unpaced.ts';

const id = 'inv-1';
const shards = 4;
const shard = shardOf(id, shards);
const paymentId = 'pi_1';
const hour = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00.000Z');
const requested: Refund = {
  id: `rf_${'a'.repeat(43)}`,
  amountMinor: 300,
  status: 'requested',
  at: new Date(start).toISOString(),
  by: 'ada',
  reason: 'returned',
};

/** A paid invoice with one refund, in a store that may lose answers, at a provider that never shows a refund. */
async function aRefund({ fault, ...changes }: Partial<Refund> & Pick<MemoryDocumentsOptions, 'fault'> = {}) {
  const time = { now: start };
  const clock = restlessClock({ now: () => time.now });
  const documents = memoryDocuments({ now: () => time.now, ...(fault === undefined ? {} : { fault }) });
  const invoices = memoryInvoiceStore(documents, { clock, shards });
  const telemetry = recordedTelemetry();
  const refund: Refund = { ...requested, ...changes };
  const {
    _etag,
    actionableAt: _,
    ...document
  } = anInvoice({
    id,
    shard,
    status: 'paid',
    payment: { keyNumber: 1, declines: 0, deferrals: 0, id: paymentId, paidAt: requested.at },
    reversals: reversalsOf([refund], []),
  });
  await documents.transact(shard, [{ kind: 'create', document }]);
  const sent: RefundRequest[] = [];
  const { customerId, amountMinor, currency } = anInvoice();
  const content = { kind: 'payment' as const, paymentId, invoiceId: id, customerId, amountMinor, currency };
  const provider: PaymentProvider = {
    ...emptyProvider,
    retrieve: async () => ({
      ...content,
      progress: { kind: 'succeeded' },
      reversals: { refunds: [], disputes: [] },
    }),
    async refund(request) {
      sent.push(request);
      return { kind: 'unknown', message: 'no answer' };
    },
  };
  const parts = {
    invoices,
    provider: unpaced(provider, { clock }),
    followUps: followUpsForTests,
    settlement: defaultSettlementPolicy,
    instance: anInstance({ clock, telemetry }),
  };
  return {
    time,
    parts,
    telemetry,
    sent,
    stored: async (): Promise<Invoice | undefined> => invoices.find(id),
    carryOut: (changed: Partial<typeof parts> = {}) =>
      refundStage({ ...parts, ...changed }).run(
        { refundId: refund.id },
        { resourceId: id, occasion: refund.id, signal: new AbortController().signal, assertHeld() {} },
      ),
    refuse: () =>
      record(parts, id, (stored, now) =>
        refusedRefund(stored, { refundId: refund.id, failure: 'charge_disputed' }, now),
      ),
  };
}

describe('a refusal', () => {
  test.each(['pending', 'succeeded', 'failed', 'canceled'] as const)(
    'that comes when the refund is %s already changes nothing, and frees nothing',
    async (status) => {
      const { refuse, stored, telemetry } = await aRefund({ status, providerId: 're_1' });
      const before = await stored();
      await refuse();
      expect(await stored()).toEqual(before);
      expect(telemetry.values(metric.refundFailed)).toEqual([]);
    },
  );

  test('of another refund, or of one that is not there, changes nothing', async () => {
    const { parts, stored } = await aRefund();
    const before = await stored();
    await record(parts, id, (invoice, now) =>
      refusedRefund(invoice, { refundId: 'rf_other', failure: 'charge_disputed' }, now),
    );
    expect(await stored()).toEqual(before);
  });

  test('ends a refund that is requested: its amount is free again, and it is counted and told', async () => {
    const { refuse, stored, telemetry } = await aRefund();
    await refuse();
    const invoice = await stored();
    expect(invoice).toMatchObject({
      reversals: { refunds: [{ status: 'failed', failure: 'charge_disputed' }], refundedMinor: 0 },
      timeline: [{}, { what: 'refund refused', refundId: requested.id, reason: 'charge_disputed' }],
    });
    expect(telemetry.values(metric.refundFailed)).toEqual([1]);
  });
});

describe('the key of a refund', () => {
  const begins = (operations: readonly Operation[]) => JSON.stringify(operations).includes('refund begins');

  test('is stored before the call, and the same goes out again', async () => {
    const { carryOut, sent, stored, time } = await aRefund();
    await expect(carryOut()).rejects.toThrow(RetryLater);
    expect((await stored())?.reversals?.refunds[0]?.key).toEqual({ number: 1, createdAt: requested.at });
    time.now += 22 * hour;
    await expect(carryOut()).rejects.toThrow(RetryLater);
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect((await stored())?.reversals?.refunds[0]?.key).toEqual({ number: 1, createdAt: requested.at });
  });

  test('is stored once, and sent, although the answer of the store is lost', async () => {
    let left = 1;
    const fault = (_: string, operations: readonly Operation[]) =>
      begins(operations) && left-- > 0 ? ('after' as const) : undefined;
    const { carryOut, sent, stored } = await aRefund({ fault });
    await expect(carryOut()).rejects.toThrow(RetryLater);
    expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual([expect.stringMatching(/-1$/)]);
    const invoice = await stored();
    expect(invoice?.reversals?.refunds[0]?.key?.number).toBe(1);
    expect(invoice?.timeline.filter(({ what }) => what === 'refund begins')).toHaveLength(1);
  });

  test('that is too old waits until no call under it can be in flight, and makes way for the next', async () => {
    const { carryOut, sent, stored, time } = await aRefund();
    await expect(carryOut()).rejects.toThrow(RetryLater);
    time.now = start + 23 * hour + 1;
    await expect(carryOut()).rejects.toThrow('too old to be sent again');
    expect(sent).toHaveLength(1);
    time.now = start + 25.5 * hour;
    await expect(carryOut()).rejects.toThrow(RetryLater);
    expect(sent).toHaveLength(2);
    expect((await stored())?.reversals?.refunds[0]?.key?.number).toBe(2);
  });

  test('is not stored, nor sent, for a refund that has ended since it was read', async () => {
    const one = await aRefund({ status: 'succeeded', providerId: 're_1' });
    const asRead = await one.stored();
    const stale = asRead && { ...asRead, reversals: reversalsOf([requested], []) };
    const invoices = { ...one.parts.invoices, find: async () => stale };
    expect(await one.carryOut({ invoices })).toEqual({ result: 'decided meanwhile' });
    expect(one.sent).toEqual([]);
    expect(await one.stored()).toEqual(asRead);
  });

  test('is not sent for an invoice that is gone', async () => {
    const one = await aRefund();
    const update: typeof one.parts.invoices.update = async () => ({ kind: 'notFound' });
    expect(await one.carryOut({ invoices: { ...one.parts.invoices, update } })).toEqual({
      result: 'decided meanwhile',
    });
    expect(one.sent).toEqual([]);
  });
});
