/** Figures that are wrong are found and put right: after a release that does not count, and when somebody asks. */
import { expect, onTestFinished, test } from 'vitest';
import { cosmosDocuments } from '../../../src/documents/cosmosDocuments.ts';
import { markOf } from '../../../src/invoice/figures/contribution.ts';
import { dayId, isCounted, standingId, standingSchema } from '../../../src/invoice/figures/figureDocument.ts';
import { recountShard } from '../../../src/invoice/figures/recountShard.ts';
import type { Invoice } from '../../../src/invoice/invoice.ts';
import { ifClaimedBy } from '../../../src/invoice/invoiceChange.ts';
import { cosmosFigureReads } from '../../../src/invoice/store/cosmosFigureReads.ts';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import { aClaimedInvoice, anInvoice } from '../../support/anInvoice.ts';
import { payonceCosmos } from '../../support/payonceCosmos.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { expectExact } from './figuresWorld.ts';
import { storeMany } from './manyInvoices.ts';

const shard = '00';
const start = Date.parse('2026-06-01T12:01:00.000Z');

async function world() {
  let seconds = 1_800_000_000;
  const cosmos = await payonceCosmos({ now: () => seconds * 1000 });
  onTestFinished(() => cosmos[Symbol.asyncDispose]());
  const container = cosmos.containers.invoices;
  const clock = virtualClock(start);
  const documents = cosmosDocuments(container);
  const reads = cosmosFigureReads(container);
  const invoices = cosmosInvoiceStore(container, { clock, shards: 1 });
  const now = () => new Date(clock.now()).toISOString();
  const standing = async () => standingSchema.parse((await documents.read(shard, [standingId]))[0]);
  return {
    documents,
    reads,
    invoices,
    clock,
    now,
    /** A second, by the clock of the store. */
    tick: () => void seconds++,
    standing,
    exact: () => expectExact(invoices, reads, { shards: 1, now: now() }),
    /** As a release before 0.3 does: the figures stay as they are. */
    patchBefore: (id: string, set: Record<string, unknown>) =>
      documents.transact(shard, [{ kind: 'patch', id, set }]),
    putBefore: async (...changes: Partial<Invoice>[]) => {
      for (const change of changes) {
        const { _etag, ...document } = anInvoice(change);
        await documents.transact(shard, [{ kind: 'create', document }]);
      }
    },
    park: (id: string) =>
      invoices.update(id, {
        decide: () => ({
          kind: 'change',
          change: { set: { status: 'parked' }, entry: { at: now(), what: 'parked', by: 'test' } },
        }),
        isApplied: () => false,
      }),
  };
}

test('invoices of a release that does not count are counted by the next sweep, without being written', async () => {
  const { putBefore, invoices, now, exact, reads, standing } = await world();
  await putBefore(
    { id: 'a' },
    { id: 'b', status: 'paid', payment: { ...anInvoice().payment, id: 'pi_1', paidAt: now() } },
    {
      id: 'c',
      status: 'declined',
      timeline: [{ at: '2026-05-31T10:00:00.000Z', what: 'declined', by: 'before' }],
    },
  );
  // Until then they are counted at each look.
  expect(Object.fromEntries((await invoices.figures(now())).byStatus)).toEqual({
    pending: 1,
    paid: 1,
    declined: 1,
  });
  expect(await invoices.dayFigures({ from: '2026-05-01', to: '2026-06-01' })).toBeUndefined();
  expect(await invoices.tendFigures()).toEqual({ recounted: [shard], busy: [] });
  expect(isCounted(await standing())).toBe(true);
  await exact();
  expect(await invoices.dayFigures({ from: '2026-05-31', to: '2026-05-31' })).toEqual([
    { day: '2026-05-31', currency: 'USD', kind: 'declined', count: 1, amountMinor: 1999 },
  ]);
  expect((await reads.standing()).length).toBe(1);
});

test('what such a release changes afterwards is found by the next sweep, and only once', async () => {
  const { invoices, exact, patchBefore, putBefore } = await world();
  await storeMany(invoices, 40, { shards: 1, now: start });
  expect(await invoices.tendFigures()).toEqual({ recounted: [], busy: [] });
  await patchBefore('inv-1', { status: 'parked' });
  await putBefore({ id: 'new' });
  expect(await invoices.tendFigures()).toEqual({ recounted: [shard], busy: [] });
  await exact();
  await patchBefore('inv-1', { counted: 'parked' });
  await patchBefore('new', { counted: markOf(anInvoice()) });
  expect(await invoices.tendFigures()).toEqual({ recounted: [], busy: [] });
});

test('a release that counts writes on top of one that does not: the figures say that they are stale', async () => {
  const { invoices, exact, patchBefore, park, standing, now } = await world();
  await storeMany(invoices, 40, { shards: 1, now: start });
  await patchBefore('inv-1', { status: 'declined', declinedAt: now() });
  await park('inv-1');
  expect((await standing()).stale).toBe(true);
  expect((await invoices.figures(now())).byStatus.get('parked')).toBe(1);
  expect(await invoices.tendFigures()).toEqual({ recounted: [shard], busy: [] });
  await exact();
});

test('what was written before the recount is changed later: nothing has to be counted again', async () => {
  const { invoices, exact, putBefore, park, standing, tick } = await world();
  await putBefore({ id: 'a' }, { id: 'b' });
  tick();
  await invoices.tendFigures();
  tick();
  await invoices.recount(shard);
  await park('a');
  expect((await standing()).stale).toBe(false);
  await exact();
});

test('a claim of such a release is settled by one that counts', async () => {
  const { invoices, exact, documents, standing, patchBefore, now } = await world();
  await storeMany(invoices, 8, { shards: 1, now: start });
  const { claim, actionableAt } = aClaimedInvoice();
  await patchBefore('inv-1', { status: 'claimed', claim, actionableAt });
  const { settled } = await invoices.settle({
    shard,
    batchId: 'b1',
    settlementId: 's1',
    items: [{ invoiceId: 'inv-1', amountMinor: 101, currency: 'USD' }],
    plan: (items) => ({
      messages: [],
      patches: items.map(({ invoiceId }) =>
        ifClaimedBy('b1', invoiceId, {
          set: { status: 'paid', payment: { ...anInvoice().payment, id: 'pi_9', paidAt: now() } },
          clear: ['claim', 'actionableAt'],
          entry: { at: now(), what: 'paid', by: 'test', settlement: 's1' },
        }),
      ),
    }),
  });
  expect(settled).toHaveLength(1);
  expect(await documents.read(shard, ['inv-1'])).toMatchObject([{ status: 'paid', counted: 'paid' }]);
  expect((await standing()).stale).toBe(true);
  expect(await invoices.tendFigures()).toEqual({ recounted: [shard], busy: [] });
  await exact();
});

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
    await invoices.tendFigures();
    await exact();
  }
  expect((await invoices.backlog(now())).waiting).toBeGreaterThan(before.waiting);
  expect((await standing()).horizon > horizon).toBe(true);
});
