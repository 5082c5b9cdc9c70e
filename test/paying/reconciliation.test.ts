import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxAttempts } from '../../src/claiming/decideClaim.ts';
import { NotReconciled, reconcileStage } from '../../src/followUps/reconcileStage.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import type { OutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { executeBatch } from '../../src/paying/payBatch.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { FoundPayment } from '../../src/paying/paymentProvider.ts';
import { workItemSchema } from '../../src/workItems/workItem.ts';
import { hastyClock, hour, minute, type PayingWorld, payingWorld } from '../support/payingWorld.ts';

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

/** An invoice that is parked because the last answer was lost, after the charge or before it. */
async function parkedUnknown(paymentMethod: string) {
  const { batch, shard, ids } = await world.claimedBatch(1, { paymentMethod, attempts: maxAttempts - 1 });
  await executeBatch(world.consumer().dependencies, batch);
  const message = (await world.workItemMessages(shard)).find(({ id }) => id.endsWith('-reconcile'));
  return { shard, id: ids[0] ?? '', ids, message };
}

function itemOf(message: OutboxMessage | undefined) {
  const [item] = workItemSchema.array().parse(message?.body);
  if (item === undefined) throw new Error('no work item');
  return item;
}

function reconcile(
  id: string,
  input: unknown,
  {
    find,
    notifies = false,
    laterMs = 0,
  }: { find?: () => Promise<FoundPayment>; notifies?: boolean; laterMs?: number } = {},
) {
  const provider = find === undefined ? world.provider : { find };
  const { container } = world;
  const clock = { ...hastyClock, now: () => hastyClock.now() + laterMs };
  const stage = reconcileStage({ container, provider, clock, by: 'host-r', notifies });
  return stage.run(input, context(id));
}

describe('the order to reconcile', () => {
  test('is stored with the parking, and is for later: the provider’s search lags', async () => {
    const { id, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    expect(itemOf(message)).toEqual({
      resourceId: id,
      stage: 'reconcile',
      occasion: message?.id.replace(/-reconcile$/, ''),
      input: { shard, keyNumber: 1 },
    });
    const wait = Date.parse(message?.nextAttemptAt ?? '') - Date.parse(message?.createdAt ?? '');
    expect(wait).toBe(1.5 * minute);
  });

  test('is not given where the outcome is known', async () => {
    const { batch, shard } = await world.claimedBatch(1, { paymentMethod: 'pm_no_such_method' });
    await executeBatch(world.consumer().dependencies, batch);
    expect(await world.workItemMessages(shard)).toEqual([]);
  });

  test('comes also with a claim that gives up after the last attempt', async () => {
    const { shard, ids } = await world.dueInvoices(2, { attempts: maxAttempts });
    const { counts } = await world.claimDue(shard);
    expect(counts).toMatchObject({ parked: 2 });
    const [message] = await world.workItemMessages(shard);
    const items = workItemSchema.array().parse(message?.body);
    expect(items.map(({ resourceId }) => resourceId)).toEqual(ids);
  });
});

describe('reconcile', () => {
  test('a payment that is found: paid, with its receipt ordered, and nothing is charged', async () => {
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
    expect(await reconcile(id, itemOf(message).input)).toEqual({ result: 'decided meanwhile' });
  });

  test('none found: it stays parked, its timeline says so, and nothing is charged', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetBeforeCharge');
    expect(await reconcile(id, itemOf(message).input, { laterMs: hour })).toEqual({ result: 'not found' });
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'looked up', by: 'host-r' });
    expect(await world.charges(ids)).toEqual([]);
  });

  test('none found within the hour says nothing, since the search lags: it is asked again, and finds it', async () => {
    const { id, shard, ids, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const none = async () => ({ kind: 'notFound' as const });
    const { input } = itemOf(message);
    const early = reconcile(id, input, { find: none, laterMs: hour - minute });
    await expect(early).rejects.toThrow(NotReconciled);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'parked' });
    expect(await reconcile(id, input, { laterMs: hour - minute })).toMatchObject({ result: 'paid' });
  });

  test('one of another amount: it stays parked, and its timeline says what is there', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const patch = [{ op: 'set' as const, path: '/amountMinor', value: 1 }];
    await world.container.item(id, shard).patch(patch);
    expect(await reconcile(id, itemOf(message).input)).toEqual({ result: 'differs' });
    const [charge] = await world.charges(ids);
    const [invoice] = await world.stored(shard, ids);
    expect(invoice).toMatchObject({ status: 'parked' });
    const reason = expect.stringContaining(`over ${charge?.amount} `);
    expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'looked up', reason });
  });

  test('a provider that cannot say: the queue brings it again', async () => {
    const { id, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const silent = async () => ({ kind: 'unknown' as const, message: 'down' });
    await expect(reconcile(id, itemOf(message).input, { find: silent })).rejects.toThrow(NotReconciled);
  });

  test('an invoice that somebody has put back meanwhile is left alone', async () => {
    const { id, ids, shard, message } = await parkedUnknown('pm_local_resetAfterCharge');
    const asPending = async (): Promise<FoundPayment> => {
      await world.container.item(id, shard).patch([{ op: 'set', path: '/status', value: 'pending' }]);
      return { kind: 'found', paymentId: 'pi_x' };
    };
    await expect(reconcile(id, itemOf(message).input, { find: asPending })).rejects.toThrow(NotReconciled);
    expect(await reconcile(id, itemOf(message).input)).toEqual({ result: 'decided meanwhile' });
    expect((await world.stored(shard, ids))[0]).toMatchObject({
      status: 'pending',
    } satisfies Partial<Invoice>);
  });
});

test('where somebody wants to hear of it, every end is told, once for each settlement', async () => {
  const { shard, ids } = await world.dueInvoices(3);
  for (const [n, method] of ['pm_card_visa', 'pm_card_chargeDeclinedLostCard', 'pm_no_such'].entries()) {
    await world.container
      .item(ids[n] ?? '', shard)
      .patch([{ op: 'set', path: '/paymentMethod', value: method }]);
  }
  const { message } = await world.claimDue(shard);
  const { dependencies } = world.consumer({ notifies: true, lingerMs: 200, clock: { ...hastyClock } });
  await executeBatch(dependencies, paymentBatchSchema.parse(message?.body));
  const items = (await world.workItemMessages(shard)).flatMap(({ body }) =>
    workItemSchema.array().parse(body),
  );
  const told = items.filter(({ stage }) => stage === 'notify');
  expect(new Map(told.map(({ resourceId, input }) => [resourceId, input.type]))).toEqual(
    new Map([
      [ids[0], 'invoice.paid'],
      [ids[1], 'invoice.declined'],
      [ids[2], 'invoice.parked'],
    ]),
  );
  expect(told.every(({ occasion }) => occasion !== undefined)).toBe(true);
});

test('what a claim parks is told too, and what is found paid after all', async () => {
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
  const { counts } = await world.claimDue(shard, { notifies: true });
  expect(counts).toMatchObject({ parked: 1 });
  await reconcile(id, { shard, keyNumber: 1 }, { notifies: true });
  const items = (await world.workItemMessages(shard)).flatMap(({ body }) =>
    workItemSchema.array().parse(body),
  );
  const told = items.filter(({ stage }) => stage === 'notify').map(({ input }) => input.type);
  expect(new Set(told)).toEqual(new Set(['invoice.paid', 'invoice.parked']));
  expect(told).toHaveLength(2);
});
