import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Payments, startPayments } from '../../local/stripe/index.ts';
import { RetryLater, RetryForADay } from '../../packages/jobs/src/workItems/nextTry.ts';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import type { AfterParts } from '../../src/after/record.ts';
import { refundInvoice } from '../../src/after/refundInvoice.ts';
import { refundStage } from '../../src/after/refundStage.ts';
import { trackPayment } from '../../src/after/trackPayment.ts';
import { webhookFollowUp } from '../../src/after/webhook.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { unpaced } from '../support/unpaced.ts';

const day = 24 * 3_600_000;
const minute = 60_000;
const refundRows = z.array(
  z.object({
    id: z.string(),
    invoiceId: z.string(),
    amount: z.number(),
    status: z.string(),
    idempotencyKey: z.string().nullable(),
  }),
);

let payments: Payments;
beforeAll(async () => {
  payments = await startPayments({ searchLagMs: 0 });
});
afterAll(() => payments.stop());

const local = async (path: string, body?: unknown) => {
  const response = await fetch(`${payments.baseUrl}/_local/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
};

let lastId = 0;

/** An invoice that is paid at the stand-in, and a process whose clock the test moves, together with the stand-in's. */
async function aPaidInvoice({
  paymentMethod = 'pm_card_visa',
  ...content
}: Partial<Pick<Invoice, 'currency' | 'amountMinor' | 'paymentMethod'>> = {}) {
  const id = `refunded-${++lastId}`;
  const { amountMinor = 1_000, currency = 'USD' } = content;
  const stripe = stripeProvider({
    secretKey: payments.secretKey,
    apiBase: payments.baseUrl,
    timeoutMs: 1_000,
  });
  const charged = await stripe.charge({
    invoiceId: id,
    amountMinor,
    currency,
    customerId: 'cus-1',
    paymentMethod,
    methodTypes: ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'],
    idempotencyKey: `invoice-${id}-1`,
  });
  if (charged.kind !== 'succeeded' && charged.kind !== 'processing') throw new Error(charged.kind);
  const { paymentId } = charged;
  if (charged.kind === 'processing') await local('clock', { advanceMs: 14 * day });
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const telemetry = recordedTelemetry();
  const documents = memoryDocuments();
  const invoices = memoryInvoiceStore(documents, { clock, shards: 4 });
  const paidAt = '2026-01-01T00:00:00.000Z';
  const payment = { keyNumber: 1, declines: 0, deferrals: 0, id: paymentId, paidAt };
  const shard = shardOf(id, 4);
  const {
    _etag,
    actionableAt: _,
    ...document
  } = anInvoice({ id, shard, status: 'paid', amountMinor, currency, payment });
  await documents.transact(shard, [{ kind: 'create', document }]);
  const provider = unpaced(stripe, { clock });
  const instance = anInstance({ clock, telemetry });
  const parts = {
    invoices,
    provider,
    followUps: followUpsOf([webhookFollowUp]),
    settlement: defaultSettlementPolicy,
    instance,
  };
  const world = {
    id,
    paymentId,
    parts,
    telemetry,
    documents,
    async request(key: string, amount?: number) {
      const wanted = amount === undefined ? {} : { amountMinor: amount };
      const requested = await refundInvoice(parts, id, {
        idempotencyKey: key,
        reason: 'returned',
        by: 'ada',
        ...wanted,
      });
      if (requested.kind !== 'requested') throw new Error(requested.kind);
      return requested.refund.id;
    },
    carryOut: (refundId: string, changes: Partial<AfterParts> = {}, assertHeld = () => {}) =>
      refundStage({ ...parts, ...changes }).run(
        { refundId },
        { resourceId: id, occasion: refundId, signal: new AbortController().signal, assertHeld },
      ),
    track: () => trackPayment(parts, paymentId),
    /** Lets time pass, here and at the stand-in. */
    async later(ms: number) {
      aheadMs += ms;
      await local('clock', { advanceMs: ms });
    },
    fault: (kind: string, count = 1) =>
      local('faults', { kind, count, filter: { operation: 'refund', invoiceId: id } }),
    async reversals() {
      return (await invoices.find(id))?.reversals;
    },
    async timeline() {
      return (await invoices.find(id))?.timeline.map(({ what }) => what) ?? [];
    },
    async ledger() {
      const rows = refundRows.parse(await local('refunds'));
      return rows.filter(({ invoiceId }) => invoiceId === id);
    },
    async items(stage: string) {
      const messages = await documents.query((one) => one.type === 'outboxMessage');
      const items = messages.flatMap(({ body }) => workItemSchema.array().parse(body));
      return items.filter((item) => item.stage === stage);
    },
  };
  return world;
}

describe('a refund', () => {
  test('is requested, made and announced once; what comes again finds it done', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k', 400);
    expect(await one.items('refund')).toEqual([
      {
        resourceId: one.id,
        stage: 'refund',
        occasion: expect.stringContaining(refundId),
        input: { refundId },
      },
    ]);
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded' });
    const [row, ...rest] = await one.ledger();
    expect(rest).toEqual([]);
    expect(row).toMatchObject({ amount: 400, status: 'succeeded', idempotencyKey: `refund-${refundId}-1` });
    expect(await one.reversals()).toMatchObject({
      refunds: [
        {
          id: refundId,
          providerId: row?.id,
          amountMinor: 400,
          status: 'succeeded',
          by: 'ada',
          reason: 'returned',
        },
      ],
      refundedMinor: 400,
    });
    expect(await one.timeline()).toEqual(['imported', 'refund requested', 'refund begins', 'reversed']);
    expect(await one.carryOut(refundId)).toEqual({ result: 'succeeded' });
    expect(await one.track()).toEqual({ kind: 'nothing' });
    expect(await one.request('k', 400)).toBe(refundId);
    expect(await one.ledger()).toHaveLength(1);
    expect(await one.items('notify')).toMatchObject([
      {
        occasion: `refunded-${refundId}`,
        input: {
          type: 'invoice.refunded',
          reversalId: refundId,
          reversedMinor: 400,
          reversedCurrency: 'USD',
          amountMinor: 1_000,
        },
      },
    ]);
  });

  test.each([
    ['UGX', 5_000, 2_000, 200_000],
    ['JPY', 500, 200, 200],
    ['KWD', 5_000, 1_230, 1_230],
    ['MGA', 500_000, 1_200, 12],
  ])(
    'in %s goes out in Stripe’s unit and comes back in ours',
    async (currency, amountMinor, part, inStripe) => {
      const one = await aPaidInvoice({ currency, amountMinor });
      await one.carryOut(await one.request('k', part));
      expect(await one.ledger()).toMatchObject([{ amount: inStripe }]);
      expect(await one.reversals()).toMatchObject({ refundedMinor: part });
      await one.track();
      expect(await one.reversals()).toMatchObject({ refundedMinor: part });
    },
  );

  test.each(['timeout-after', 'reset-after', '500-after'])(
    'whose answer is lost (%s) is found the next time, and not made twice',
    async (fault) => {
      const one = await aPaidInvoice();
      const refundId = await one.request('k');
      await one.fault(fault);
      await expect(one.carryOut(refundId)).rejects.toThrow(RetryLater);
      expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded', found: true });
      expect(await one.ledger()).toHaveLength(1);
      expect(await one.items('notify')).toHaveLength(1);
    },
  );

  test.each(['timeout-before', 'reset-before'])(
    'that did not arrive (%s) is sent again under the same key',
    async (fault) => {
      const one = await aPaidInvoice();
      const refundId = await one.request('k');
      await one.fault(fault);
      await expect(one.carryOut(refundId)).rejects.toThrow(RetryLater);
      expect(await one.reversals()).toMatchObject({ refunds: [{ status: 'requested', key: { number: 1 } }] });
      await one.carryOut(refundId);
      expect(await one.ledger()).toMatchObject([{ idempotencyKey: `refund-${refundId}-1` }]);
    },
  );

  test('whose key is too old goes out under the next one, if the provider does not have it', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k');
    await one.fault('500');
    await expect(one.carryOut(refundId)).rejects.toThrow(RetryLater);
    await one.later(23 * 60 * minute + minute);
    await expect(one.carryOut(refundId)).rejects.toThrow('too old to be sent again, and too young');
    expect(await one.ledger()).toEqual([]);
    await one.later(150 * minute);
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded' });
    expect(await one.ledger()).toMatchObject([{ idempotencyKey: `refund-${refundId}-2` }]);
  });

  test('whose key is too old is only recorded, if the provider has it', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k');
    await one.fault('500-after');
    await expect(one.carryOut(refundId)).rejects.toThrow(RetryLater);
    await one.later(3 * day);
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded', found: true });
    expect(await one.ledger()).toHaveLength(1);
  });

  test('that the provider refuses has failed, says why, and frees its amount', async () => {
    const one = await aPaidInvoice();
    await local('disputes', { paymentIntent: one.paymentId });
    const refundId = await one.request('k');
    expect(await one.carryOut(refundId)).toMatchObject({
      result: 'refused',
      failure: expect.stringContaining('charge_disputed'),
    });
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, status: 'failed', failure: expect.stringContaining('charge_disputed') }],
      refundedMinor: 0,
    });
    expect(await one.ledger()).toEqual([]);
    expect(one.telemetry.values(metric.refundFailed)).toEqual([1]);
    expect(await one.items('notify')).toMatchObject([
      {
        occasion: `refundFailed-${refundId}`,
        input: { type: 'invoice.refund_failed', reversalId: refundId },
      },
    ]);
    expect(await one.request('again')).not.toBe(refundId);
  });

  test('that somebody else has made meanwhile leaves too little: refused, and both are recorded', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k', 700);
    await made(one, 500);
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'refused' });
    await one.track();
    expect(await one.reversals()).toMatchObject({ refundedMinor: 500 });
    expect((await one.reversals())?.refunds.map(({ status }) => status).toSorted()).toEqual([
      'failed',
      'succeeded',
    ]);
  });

  test('of the same amount as one that somebody else had made before is made', async () => {
    const one = await aPaidInvoice();
    await made(one, 400);
    await one.track();
    const refundId = await one.request('k', 400);
    expect(await one.reversals()).toMatchObject({ refundedMinor: 800 });
    await one.carryOut(refundId);
    expect(await one.ledger()).toHaveLength(2);
    await one.track();
    expect(await one.reversals()).toMatchObject({ refundedMinor: 800 });
    expect(await one.items('notify')).toHaveLength(2);
  });

  test('of a bank debit is pending for days, and ends by what an event makes somebody look at', async () => {
    const one = await aPaidInvoice({ paymentMethod: 'pm_usBankAccount_success' });
    const refundId = await one.request('k');
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'pending' });
    expect(await one.items('notify')).toEqual([]);
    await one.later(5 * day);
    expect(await one.track()).toMatchObject({ kind: 'changed', status: 'paid' });
    expect(await one.reversals()).toMatchObject({ refunds: [{ id: refundId, status: 'succeeded' }] });
    expect(await one.items('notify')).toHaveLength(1);
  });

  test('that fails after it had succeeded frees its amount, and says so', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k');
    await one.fault('refund-fails');
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded' });
    await one.later(2 * day);
    await one.track();
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, status: 'failed', failure: 'expired_or_canceled_card' }],
      refundedMinor: 0,
    });
    expect((await one.items('notify')).map(({ input }) => input.type)).toEqual([
      'invoice.refunded',
      'invoice.refund_failed',
    ]);
    expect(one.telemetry.values(metric.refundFailed)).toEqual([1]);
  });

  test('is found by an event before its own answer is recorded: it is not added twice', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k', 300);
    await one.fault('timeout-after');
    await expect(one.carryOut(refundId)).rejects.toThrow(RetryLater);
    await one.track();
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, status: 'succeeded' }],
      refundedMinor: 300,
    });
    expect(await one.carryOut(refundId)).toEqual({ result: 'succeeded' });
    expect(await one.items('notify')).toHaveLength(1);
  });

  test('that a restored database does not know is not made again under the same key', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k', 300);
    await one.carryOut(refundId);
    await one.later(2 * day);
    const stored = await one.parts.invoices.find(one.id);
    const patch = { kind: 'patch' as const, id: one.id, remove: ['reversals'] };
    await one.documents.transact(stored?.shard ?? '', [patch]);
    expect(await one.request('k', 300)).toBe(refundId);
    expect(await one.carryOut(refundId)).toMatchObject({ result: 'succeeded', found: true });
    expect(await one.ledger()).toHaveLength(1);
  });

  test('is not sent once the lease of its work item is lost', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k');
    const lost = () => {
      throw new Error('lost');
    };
    await expect(one.carryOut(refundId, {}, lost)).rejects.toThrow();
    expect(await one.ledger()).toEqual([]);
  });

  test('that a stale read does not show is not taken for done', async () => {
    const one = await aPaidInvoice();
    await expect(one.carryOut('rf_none')).rejects.toThrow(RetryForADay);
    expect(await one.ledger()).toEqual([]);
  });

  test('whose order was lost is ordered again by the same key, and made once', async () => {
    const one = await aPaidInvoice();
    const refundId = await one.request('k', 300);
    const orders = async () => (await one.items('refund')).length;
    expect(await orders()).toBe(1);
    expect(await one.request('k', 300)).toBe(refundId);
    expect(await orders()).toBe(1);
    await one.later(60_000);
    expect(await one.request('k', 300)).toBe(refundId);
    expect(await orders()).toBe(2);
    for (let n = 0; n < 2; n++) await one.carryOut(refundId);
    expect(await one.ledger()).toHaveLength(1);
    expect(await one.request('k', 300)).toBe(refundId);
    expect(await orders()).toBe(2);
    expect(await one.timeline()).toContain('refund ordered again');
  });

  /** A refund that somebody makes in Stripe's dashboard. */
  async function made({ paymentId }: { paymentId: string }, amount: number): Promise<void> {
    const response = await fetch(`${payments.baseUrl}/v1/refunds`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${payments.secretKey}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ payment_intent: paymentId, amount: String(amount) }),
    });
    if (!response.ok) throw new Error(await response.text());
  }
});

describe('when the provider cannot say', () => {
  const never = () => Promise.reject(new Error('no such call is made'));
  const answers = {
    'its turn does not come': [{ kind: 'notCalled' }, 'RetryLater'],
    'calls are blocked': [{ kind: 'blocked', message: 'blocked', retryAfterMs: 1 }, 'RetryLater'],
    'there is no answer': [{ kind: 'unknown', message: 'down' }, 'RetryLater'],
    'the payment is not there, so for a day': [{ kind: 'notFound' }, 'RetryForADay'],
  } as const;

  test.each(Object.entries(answers))(
    '%s: nothing is sent, and the item is tried again',
    async (_, [answer, name]) => {
      const one = await aPaidInvoice();
      const refundId = await one.request('k');
      const provider = {
        within: () => ({
          charge: never,
          find: never,
          retrieve: async () => answer,
          cancel: never,
          refund: never,
          defaultMethod: never,
        }),
      };
      await expect(one.carryOut(refundId, { provider })).rejects.toMatchObject({ name });
      expect(await one.reversals()).toMatchObject({ refunds: [{ status: 'requested' }] });
    },
  );
});
