/** Figures that are wrong are put right when somebody asks. */
import { expect, onTestFinished, test } from 'vitest';
import { cosmosDocuments } from '../../../packages/jobs/src/documents/cosmosDocuments.ts';
import { dayId, standingId, standingSchema } from '../../../src/invoice/counters/counters.ts';
import { recountShard } from '../../../src/invoice/counters/invoiceCounters.ts';
import { cosmosCounterReads } from '../../../src/invoice/store/cosmosInvoiceReads.ts';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import { payonceCosmos } from '../../support/payonceCosmos.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { expectExact } from './countersWorld.ts';
import { storeMany } from './manyInvoices.ts';

const shard = '00';
const start = Date.parse('2026-06-01T12:01:00.000Z');

async function world() {
  const cosmos = await payonceCosmos();
  onTestFinished(() => cosmos[Symbol.asyncDispose]());
  const container = cosmos.containers.invoices;
  const clock = virtualClock(start);
  const documents = cosmosDocuments(container);
  const reads = cosmosCounterReads(container);
  const invoices = cosmosInvoiceStore(container, { clock, shards: 1 });
  const now = () => new Date(clock.now()).toISOString();
  const standing = async () => standingSchema.parse((await documents.read(shard, [standingId]))[0]);
  return {
    documents,
    container,
    reads,
    invoices,
    clock,
    now,
    standing,
    exact: () => expectExact(invoices, reads, { shards: 1, now: now() }),
    park: (id: string) =>
      invoices.update(id, {
        decide: () => ({
          kind: 'change',
          change: { set: { status: 'parked' }, entry: { at: now(), what: 'parked', by: 'test' } },
        }),
      }),
  };
}

test('a recount says what was wrong', async () => {
  const { invoices, exact, documents } = await world();
  await storeMany(invoices, 20, { shards: 1, now: start });
  await documents.transact(shard, [
    { kind: 'patch', id: standingId, increment: { 'counts.paid': 3 } },
    { kind: 'patch', id: dayId('2026-06-01'), increment: { 'counts.paidMinor_USD': -1 } },
  ]);
  const recounted = await invoices.recount(shard);
  expect(recounted).toMatchObject({
    kind: 'recounted',
    invoices: 20,
    corrections: [
      { shard, day: '2026-06-01', figure: 'paidMinor_USD' },
      { shard, figure: 'paid', was: 13, is: 10 },
    ],
  });
  await exact();
  expect(await invoices.recount(shard)).toMatchObject({ corrections: [] });
});

test('what stands in the place of a day is passed over, counted as unreadable, and replaced by a recount', async () => {
  const { invoices, documents, container, clock, exact } = await world();
  await storeMany(invoices, 20, { shards: 1, now: start });
  const days = { from: '2026-05-01', to: '2026-07-01' };
  const before = await invoices.dayCounts(days);
  const [day] = await documents.read(shard, [dayId('2026-06-01')]);
  const { counts: _, ...edited } = day as { counts: object };
  await container.items.upsert(edited);
  const reports: string[] = [];
  const watched = cosmosInvoiceStore(container, {
    clock,
    shards: 1,
    onUnreadable: ({ id }) => reports.push(id),
  });
  expect(await watched.dayCounts(days)).toEqual({ counts: [], unreadable: 1 });
  expect(reports).toEqual([dayId('2026-06-01')]);
  expect(await invoices.recount(shard)).toMatchObject({
    kind: 'recounted',
    invoices: 20,
    corrections: expect.arrayContaining([
      { shard, figure: `unreadable document ${dayId('2026-06-01')}`, was: 1, is: 0 },
    ]),
  });
  expect(await invoices.dayCounts(days)).toEqual(before);
  await container.items.upsert({ id: standingId, shard, type: 'figures' });
  expect((await watched.counts(new Date(start).toISOString())).byStatus.size).toBe(0);
  expect(reports).toEqual([dayId('2026-06-01'), standingId]);
  expect(await invoices.recount(shard)).toMatchObject({ kind: 'recounted', invoices: 20 });
  await exact();
});

test('a recount during which an invoice moves writes nothing wrong', async () => {
  const { invoices, exact, documents, reads, clock, park } = await world();
  await storeMany(invoices, 20, { shards: 1, now: start });
  const moving = {
    ...reads,
    async *all(name: string) {
      yield* reads.all(name);
      await park('inv-1');
    },
  };
  const parts = { documents, reads: moving, now: () => clock.now() };
  expect(await recountShard(parts, shard)).toEqual({ kind: 'busy' });
  await exact();
});

test('time passes: what becomes due is counted, before and after the horizon moves', async () => {
  const { invoices, exact, clock, now, standing } = await world();
  await storeMany(invoices, 40, { shards: 1, now: start - 86_400_000 });
  const before = await invoices.backlog(now());
  const { horizon } = await standing();
  for (const days of [1, 2, 20]) {
    await clock.advance(days * 86_400_000);
    await exact();
    await invoices.moveHorizons();
    await exact();
  }
  expect((await invoices.backlog(now())).waiting).toBeGreaterThan(before.waiting);
  expect((await standing()).horizon > horizon).toBe(true);
});
