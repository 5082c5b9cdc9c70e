import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cosmosOutboxStore } from '../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { cosmosPoisonStore } from '../../packages/jobs/src/workItems/cosmosPoisonStore.ts';
import { poisonItems } from '../../packages/jobs/src/workItems/poison.ts';
import { newInvoice } from '../../src/invoice/store/invoiceWrites.ts';
import { reportGauges } from '../../src/ops/sweepAndReport.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { type Metric, metric } from '../../src/platform/appMetrics.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { memoryPauseStore } from '../memory/memoryPauseStore.ts';
import { hastyClock, type PayingWorld, payingWorld, watchedProvider } from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

const pauses = memoryPauseStore();
let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const poison = () =>
  poisonItems({
    store: cosmosPoisonStore(world.cosmos.containers.workItems),
    stages: [],
    sendAgain: async () => {},
    putBack: async () => {},
    clock: hastyClock,
  });

/** The value of a gauge as it is reported `later` milliseconds from now. */
async function gauge(name: Metric, later = 0): Promise<number | undefined> {
  const telemetry = recordedTelemetry();
  const clock = { ...hastyClock, now: () => Date.now() + later };
  await reportGauges({
    invoices: world.invoices,
    outbox: cosmosOutboxStore(world.container),
    pace: memoryPaceStore(),
    pauses,
    poison: poison(),
    checkKey: async () => {},
    instance: { clock, telemetry },
  });
  expect(telemetry.values(name)).toHaveLength(1);
  return telemetry.values(name).at(-1);
}

test('parked invoices and messages count in all shards, for as long as they are parked', async () => {
  const parked = () => gauge(metric.parkedWaiting);
  const { items } = world.container;
  expect(await parked()).toBe(0);
  const content = { customerId: 'cus_1', amountMinor: 1, currency: 'USD', paymentMethod: 'pm_1' };
  const at = '2026-01-01T00:00:00.000Z';
  for (const [shard, status] of [
    ['f0', 'parked'],
    ['f1', 'parked'],
    ['f1', 'pending'],
  ] as const) {
    const id = `${shard}-${status}`;
    const invoice = newInvoice({ ...content, id, dueAt: at }, { shard, at, by: 'test' });
    await items.create({ ...invoice, status });
  }
  expect(await parked()).toBe(2);
  const message = newOutboxMessage({ id: 'm', shard: 'f2', destination: 'work-items', body: [] }, 0);
  await items.create({ ...message, status: 'parked' });
  expect(await parked()).toBe(3);
  await world.container.item('f0-parked', 'f0').patch([{ op: 'set', path: '/status', value: 'paid' }]);
  expect(await parked()).toBe(2);
});

test('poison work items count until they are redriven', async () => {
  const waiting = () => gauge(metric.workItemPoisonWaiting);
  expect(await waiting()).toBe(0);
  await poison().record('not a work item', randomUUID());
  expect(await waiting()).toBe(1);
  for (const item of await poison().list(10)) await poison().redrive(item, async () => {});
  expect(await waiting()).toBe(0);
});

test('the age of the oldest unknown payment grows from its first unknown answer until its outcome is known', async () => {
  const oldestUnknown = (later = 0) => gauge(metric.paymentUnknownOldestMs, later);
  const { pay } = world.consumer();
  expect(await oldestUnknown()).toBe(0);
  const declined = await world.claimedBatch(1, { paymentMethod: 'pm_card_chargeDeclinedLostCard' });
  await pay(declined.batch);
  expect(await oldestUnknown()).toBe(0);

  const { batch, shard, ids } = await world.claimedBatch(1, {
    paymentMethod: 'pm_local_resetAfterChargeOnce',
  });
  const before = Date.now();
  await pay(batch);
  const since = Date.parse((await world.stored(shard, ids))[0]?.payment.unknownSince ?? '');
  expect(since).toBeGreaterThanOrEqual(before);
  expect(await oldestUnknown(3_600_000)).toBeGreaterThanOrEqual(3_600_000);

  await world.makeDue(shard, ids);
  const { message } = await world.claimDue(shard);
  await pay(paymentBatchSchema.parse(message?.body));
  expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid' });
  expect(await oldestUnknown(3_600_000)).toBe(0);
});

const backlogGauges: readonly Metric[] = [
  metric.invoiceBacklog,
  metric.invoiceOldestDueSeconds,
  metric.invoiceBacklogSeconds,
];
const overdueGauges: readonly Metric[] = [
  metric.invoiceOverdue,
  metric.invoiceOverdueOldestMs,
  metric.invoiceOverdueOldestMs,
];
const gauges: readonly Metric[] = [
  metric.parkedWaiting,
  metric.paymentUnknownOldestMs,
  metric.paymentInProgressOldestMs,
  metric.workItemPoisonWaiting,
  metric.pausedMs,
  ...backlogGauges,
  ...overdueGauges,
];

test.each<[string, readonly Metric[]]>([
  ['invoicesParked', [metric.parkedWaiting]],
  ['messagesParked', [metric.parkedWaiting]],
  ['unknownSince', [metric.paymentUnknownOldestMs]],
  ['inProgressSince', [metric.paymentInProgressOldestMs]],
  ['poisonWaiting', [metric.workItemPoisonWaiting]],
  ['backlog', backlogGauges],
  ['overdue', overdueGauges],
  ['checkKey', []],
  ['paused', [metric.pausedMs]],
])(
  'a query that fails (%s) hides no other gauge, even one whose query answers later',
  async (failing, hidden) => {
    const telemetry = recordedTelemetry();
    const later = Promise.withResolvers<void>();
    const answer = async <T>(name: string, value: T): Promise<T> => {
      if (name === failing) throw new Error('the query failed');
      await later.promise;
      return value;
    };
    const reported = reportGauges({
      invoices: {
        parkedCount: () => answer('invoicesParked', 1),
        unknownSince: () => answer('unknownSince', undefined),
        inProgressSince: () => answer('inProgressSince', undefined),
        backlog: () => answer('backlog', { waiting: 0, claimed: 0 }),
        overdue: () => answer('overdue', { count: 0 }),
      },
      outbox: { count: () => answer('messagesParked', 2) },
      pace: memoryPaceStore(),
      pauses: { read: () => answer('paused', undefined) },
      poison: { waiting: () => answer('poisonWaiting', 3) },
      checkKey: () => answer('checkKey', undefined),
      instance: { clock: hastyClock, telemetry },
    });
    await expect(reported).rejects.toThrow('the query failed');
    later.resolve();
    const others = gauges.filter((name) => !hidden.includes(name)).toSorted();
    await vi.waitFor(() => expect(telemetry.reports.map(({ name }) => name).toSorted()).toEqual(others));
  },
);

test('the age of the oldest overdue invoice counts from the first claim of its key, whatever becomes of its tries', async () => {
  const telemetry = recordedTelemetry();
  const began = Date.now();
  const { batch, shard, ids } = await world.claimedBatch(1);
  const provider = watchedProvider(world.provider, {
    charge: async () => ({ kind: 'transient', code: 'authentication', message: 'the key is refused' }),
  }).provider;
  await world.consumer({ provider }).pay(batch);
  expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'pending' });
  const clock = { ...hastyClock, now: () => Date.now() + 600_000 };
  const oldest = async () => {
    await reportGauges({
      invoices: world.invoices,
      outbox: cosmosOutboxStore(world.container),
      pace: memoryPaceStore(),
      pauses,
      poison: poison(),
      checkKey: async () => {},
      instance: { clock, telemetry },
    });
    const last = telemetry.reports.filter(({ name }) => name === metric.invoiceOverdueOldestMs).slice(-2);
    return Object.fromEntries(last.map(({ attributes, value }) => [String(attributes.since), value]));
  };
  const { claim } = await oldest();
  expect(claim).toBeGreaterThanOrEqual(600_000);
  expect(claim).toBeLessThanOrEqual(600_000 + Date.now() - began);
  expect(telemetry.values(metric.invoiceOverdue).at(-1)).toBeGreaterThanOrEqual(1);
  await world.makeDue(shard, ids);
  const { message } = await world.claimDue(shard);
  await world.consumer().pay(paymentBatchSchema.parse(message?.body));
  expect(await oldest()).toMatchObject({ claim: 0 });
});

test('a pause is reported by its age, and 0 says that payments go on', async () => {
  expect(await gauge(metric.pausedMs)).toBe(0);
  const at = new Date(Date.now() - 60_000).toISOString();
  await pauses.begin({ reason: 'the provider is down', by: 'ada', at });
  expect(await gauge(metric.pausedMs)).toBeGreaterThanOrEqual(60_000);
  await pauses.end({ at }, { at: new Date().toISOString(), by: 'bob' });
  expect(await gauge(metric.pausedMs)).toBe(0);
});
