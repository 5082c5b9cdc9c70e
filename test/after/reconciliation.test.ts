import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OutboxMessage } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { RetryLater, RetryForADay } from '../../packages/jobs/src/workItems/nextTry.ts';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { reconciliationStage } from '../../src/after/reconciliation.ts';
import type { FollowUps } from '../../src/invoice/followUps.ts';
import { type Invoice, maxAttempts } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { PacedProvider, FoundPayment } from '../../src/paying/paymentProvider.ts';
import { anInstance } from '../support/anInstance.ts';
import { withBatch } from '../support/layerSwitches.ts';
import {
  followUpsForTests,
  followUpsWithWebhook,
  hastyClock,
  hour,
  minute,
  type PayingWorld,
  payingWorld,
  shards,
} from '../support/payingWorld.ts';
import { unpaced } from '../support/unpaced.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const context = (resourceId: string) => ({
  resourceId,
  signal: new AbortController().signal,
  assertHeld() {},
});

/** An invoice parked because the last answer was lost, before or after the charge. */
async function parkedUnknown(paymentMethod: string) {
  const { batch, shard, ids } = await world.claimedBatch(1, { paymentMethod, attempts: maxAttempts - 1 });
  await world.consumer().pay(batch);
  const message = (await world.workItemMessages(shard)).find(({ body }) =>
    workItemSchema
      .array()
      .safeParse(body)
      .data?.some(({ stage }) => stage === 'reconcile'),
  );
  return { shard, id: ids[0] ?? '', ids, message };
}

function itemOf(message: OutboxMessage | undefined) {
  const [item] = workItemSchema.array().parse(message?.body);
  if (item === undefined) throw new Error('no work item');
  return item;
}

const never = () => Promise.reject(new Error('nothing is charged here'));

function reconcile(
  id: string,
  input: unknown,
  {
    find,
    invoices = world.invoices,
    followUps = followUpsForTests,
    laterMs = 0,
    tries = 0,
    provider: given,
  }: {
    find?: () => Promise<FoundPayment>;
    invoices?: InvoiceStore;
    followUps?: FollowUps;
    laterMs?: number;
    tries?: number;
    provider?: Pick<PacedProvider, 'within'>;
  } = {},
) {
  const clock = { ...hastyClock, now: () => hastyClock.now() + laterMs };
  const called = find === undefined ? world.provider : { ...world.provider, find };
  const provider = given ?? unpaced(called, { clock });
  const instance = anInstance({ name: 'host-r', clock });
  const stage = reconciliationStage({ invoices, provider, followUps, instance });
  return stage.run(input, { ...context(id), tries });
}

describe('ordering a reconciliation', () => {
  test('is stored when the invoice is parked', async () => {
    const { id, message } = await parkedUnknown('pm_local_resetAfterCharge');
    expect(itemOf(message)).toEqual({
      resourceId: id,
      stage: 'reconcile',
      occasion: message?.id,
      input: { keyNumber: 1 },
    });
  });

  test('does not happen if the outcome is known', async () => {
    const { batch, shard } = await world.claimedBatch(1, { paymentMethod: 'pm_no_such_method' });
    await world.consumer().pay(batch);
    expect(await world.workItemMessages(shard)).toEqual([]);
  });

  test('also happens when a claim gives up after the last attempt', async () => {
    const { shard, ids } = await world.dueInvoices(2, { attempts: maxAttempts });
    const { counts } = await world.claimDue(shard);
    expect(counts).toMatchObject({ parked: 2 });
    const [message] = await world.workItemMessages(shard);
    const items = workItemSchema.array().parse(message?.body);
    expect(items.map(({ resourceId }) => resourceId)).toEqual(ids);
  });
});

describe('reconciliation', () => {
  test('a payment is found: the invoice is paid, its receipt ordered, and nothing is charged', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    expect(await reconcile(id, itemOf(message).input)).toMatchObject({ result: 'paid' });
    const [charge] = await world.charges(ids);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'paid', timeline: expect.anything() });
    expect(invoice).not.toHaveProperty('reason');
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'paid', found: 'by reconciliation' });
    expect(await world.charges(ids)).toEqual([charge]);
    const receipt = (await world.workItemMessages(shard)).flatMap(({ body }) => body as { stage: string }[]);
    expect(receipt.filter(({ stage }) => stage === 'receipt')).toHaveLength(1);
    expect(await reconcile(id, itemOf(message).input, { tries: 1 })).toEqual({ result: 'decided meanwhile' });
  });

  test('a read that does not show it parked may be stale: it is not taken for decided at the first try', async () => {
    const { id, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const { input } = itemOf(message);
    const stale: InvoiceStore = {
      ...world.invoices,
      async find(asked) {
        const invoice = await world.invoices.find(asked);
        return invoice && { ...invoice, status: 'claimed' };
      },
    };
    await expect(reconcile(id, input, { invoices: stale })).rejects.toThrow(RetryLater);
    await expect(
      reconcile(id, input, { invoices: { ...stale, find: async () => undefined } }),
    ).rejects.toThrow(RetryLater);
    expect(await reconcile(id, input, { tries: 1 })).toMatchObject({ result: 'paid' });
  });

  test('no payment is found: the invoice stays parked, its timeline says so, and nothing is charged', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetBeforeCharge');
    expect(await reconcile(id, itemOf(message).input, { laterMs: hour })).toEqual({ result: 'not found' });
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'looked up', by: 'host-r' });
    expect(await world.charges(ids)).toEqual([]);
  });

  test('none found within the hour proves nothing, because the search lags: the provider is asked again', async () => {
    const { id, shard, ids, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const none = async () => ({ kind: 'notFound' as const });
    const { input } = itemOf(message);
    const early = reconcile(id, input, { find: none, laterMs: hour - minute });
    await expect(early).rejects.toThrow(RetryForADay);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'parked' });
    expect(await reconcile(id, input, { laterMs: hour - minute })).toMatchObject({ result: 'paid' });
  });

  test('a payment of another amount: the invoice stays parked, and its timeline says what was found', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const patch = [{ op: 'set' as const, path: '/amountMinor', value: 1 }];
    await world.container.item(id, shard).patch(patch);
    expect(await reconcile(id, itemOf(message).input)).toEqual({ result: 'differs' });
    const [charge] = await world.charges(ids);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    const reason = expect.stringContaining(`with ${charge?.amount} USD, not 1 USD`);
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'looked up', reason });
  });

  test('the provider cannot say: the work item is retried', async () => {
    const { id, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const silent = async () => ({ kind: 'unknown' as const, message: 'down' });
    await expect(reconcile(id, itemOf(message).input, { find: silent })).rejects.toThrow(RetryLater);
  });

  test.each([
    [
      'its turn does not come in time',
      { kind: 'notCalled' },
      'its turn did not come in time, or payments are paused',
    ],
    ['calls are blocked', { kind: 'blocked', message: 'blocked', retryAfterMs: 1 }, 'blocked'],
  ] as const)('%s: the work item is retried', async (_, answer, reason) => {
    const { id, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const provider = {
      within: () => ({
        find: async () => answer,
        charge: never,
        retrieve: never,
        cancel: never,
        refund: never,
        defaultMethod: never,
      }),
    };
    const outcome = reconcile(id, itemOf(message).input, { provider });
    await expect(outcome).rejects.toThrow(RetryLater);
    await expect(outcome).rejects.toThrow(reason);
  });

  test('an invoice made pending in the meantime is left alone', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const asPending = async (): Promise<FoundPayment> => {
      await world.container.item(id, shard).patch([{ op: 'set', path: '/status', value: 'pending' }]);
      return { kind: 'found', paymentId: 'pi_x' };
    };
    const outcome = await reconcile(id, itemOf(message).input, { find: asPending });
    expect(outcome).toEqual({ result: 'decided meanwhile' });
    expect(await reconcile(id, itemOf(message).input, { tries: 1 })).toEqual({ result: 'decided meanwhile' });
    expect((await world.stored(shard, ids))[0]).toMatchObject({
      status: 'pending',
    } satisfies Partial<Invoice>);
  });

  test('none is found, and a person decides in the meantime: their decision is what is recorded', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetBeforeCharge');
    const find = async (): Promise<FoundPayment> => {
      await world.container.item(id, shard).patch([{ op: 'set', path: '/status', value: 'pending' }]);
      return { kind: 'notFound' };
    };
    const outcome = await reconcile(id, itemOf(message).input, { find, laterMs: hour });
    expect(outcome).toEqual({ result: 'decided meanwhile' });
    expect((await world.stored(shard, ids))[0]?.timeline.at(-1)).toMatchObject({ what: 'parked' });
  });

  test('an invoice made pending between the read and the write is left alone', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const container = withBatch(world.container, (write) => async (...args) => {
      await world.container.item(id, shard).patch([{ op: 'set', path: '/status', value: 'pending' }]);
      return write(...args);
    });
    const invoices = cosmosInvoiceStore(container, { clock: hastyClock, shards });
    expect(await reconcile(id, itemOf(message).input, { invoices })).toEqual({ result: 'decided meanwhile' });
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'pending' });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'parked' });
    const ordered = (await world.workItemMessages(shard)).flatMap(({ body }) => body as { stage: string }[]);
    expect(ordered.map(({ stage }) => stage)).toEqual(['reconcile']);
  });
});

test('with a webhook, every final status is notified, once per settlement', async () => {
  const { shard, ids } = await world.dueInvoices(3);
  for (const [n, method] of ['pm_card_visa', 'pm_card_chargeDeclinedLostCard', 'pm_no_such'].entries()) {
    await world.container
      .item(ids[n] ?? '', shard)
      .patch([{ op: 'set', path: '/paymentMethod', value: method }]);
  }
  const { message } = await world.claimDue(shard);
  const consumer = world.consumer({ followUps: followUpsWithWebhook, lingerMs: 200 });
  await consumer.pay(paymentBatchSchema.parse(message?.body));
  const items = (await world.workItemMessages(shard)).flatMap(({ body }) =>
    workItemSchema.array().parse(body),
  );
  const notified = items.filter(({ stage }) => stage === 'notify');
  expect(new Map(notified.map(({ resourceId, input }) => [resourceId, input.type]))).toEqual(
    new Map([
      [ids[0], 'invoice.paid'],
      [ids[1], 'invoice.declined'],
      [ids[2], 'invoice.parked'],
    ]),
  );
  expect(notified.every(({ occasion }) => occasion !== undefined)).toBe(true);
});

test('with a webhook, an invoice parked by a claim is notified, and so is one found paid after all', async () => {
  const { shard, ids } = await world.claimedBatch(
    1,
    { paymentMethod: 'pm_local_resetAfterCharge', attempts: maxAttempts - 1 },
    { claimStaleMs: -1 },
  );
  const id = ids[0] ?? '';
  await world.provider.charge({
    invoiceId: id,
    customerId: 'cus_1',
    amountMinor: 1_000,
    currency: 'USD',
    paymentMethod: 'pm_card_visa',
    idempotencyKey: `invoice-${id}-1`,
  });
  await world.container.item(id, shard).patch([{ op: 'set', path: '/claim/phase', value: 'calling' }]);
  const { counts } = await world.claimDue(shard, { followUps: followUpsWithWebhook });
  expect(counts).toMatchObject({ parked: 1 });
  await reconcile(id, { keyNumber: 1 }, { followUps: followUpsWithWebhook });
  const items = (await world.workItemMessages(shard)).flatMap(({ body }) =>
    workItemSchema.array().parse(body),
  );
  const notified = items.filter(({ stage }) => stage === 'notify').map(({ input }) => input.type);
  expect(new Set(notified)).toEqual(new Set(['invoice.paid', 'invoice.parked']));
  expect(notified).toHaveLength(2);
});
