import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DocumentStore } from '../../packages/jobs/src/documents/documentStore.ts';
import { type ArchiveBlobs, linesOf } from '../../src/archive/archiveFile.ts';
import { restoreInvoice } from '../../src/archive/restoreInvoice.ts';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { shardNames } from '../../src/invoice/shard.ts';
import { isFull } from '../support/onlyInFull.ts';
import { type ArchiveWorld, archiveWorld, dayMs, paidInvoice, tickMs } from './archiveWorld.ts';

/** The process died. */
class Crash extends Error {}

type Fault = 'none' | 'lostBefore' | 'lostAfter' | 'echo' | 'crashBefore' | 'crashAfter' | 'changed';
const faults = fc.constantFrom<Fault>(
  'none',
  'none',
  'none',
  'lostBefore',
  'lostAfter',
  'echo',
  'crashBefore',
  'crashAfter',
  'changed',
);
const ids = ['a', 'b', 'c', 'd', 'e', 'f'];

type Step =
  | { kind: 'tick'; writes: Fault[]; files: Fault[] }
  | { kind: 'twoTicks'; writes: Fault[]; files: Fault[] }
  | { kind: 'restore'; id: string; writes: Fault[]; files: Fault[] }
  | { kind: 'import'; id: string }
  | { kind: 'wait' };
const some = { writes: fc.array(faults, { maxLength: 5 }), files: fc.array(faults, { maxLength: 3 }) };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('tick' as const), ...some }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('twoTicks' as const), ...some }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), id: fc.constantFrom(...ids), ...some }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('import' as const), id: fc.constantFrom(...ids) }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'wait' as const }) },
);

test('an invoice is in the database or in the archive, never in neither, and counted once, whatever dies or is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const world = archiveWorld();
      await world.put(...ids.map(some6));
      const before = await world.figures();
      for (const one of steps) {
        await take(world, one);
        await checkAll(world, before);
      }
      world.time.now += 401 * dayMs;
      expect(await world.tick()).toMatchObject({ complete: true });
      for (const id of ids) expect(await world.where(id)).toBe('archive');
      await checkAll(world, before);
      for (const shard of shardNames(world.shards))
        expect(await world.stored.recount(shard)).toMatchObject({ invoices: 0, corrections: [] });
      await checkAll(world, before);
    }),
    { numRuns: isFull ? 150 : 50 },
  );
}, 60_000);

/** Paid, declined and voided ones, of several months and currencies, one partly refunded. */
function some6(id: string, n: number) {
  const at = `2024-0${1 + (n % 3)}-10T12:00:00.000Z`;
  const { payment, timeline, ...paid } = paidInvoice({ id, currency: n % 2 === 0 ? 'USD' : 'EUR' });
  if (n === 3) {
    return { ...paid, status: 'declined' as const, declinedAt: at, timeline, payment: firstKey };
  }
  if (n === 4) return { ...paid, status: 'voided' as const, timeline, payment: firstKey };
  const refunds = [{ id: 'r', amountMinor: 100, status: 'succeeded' as const, at }];
  return {
    ...paid,
    timeline,
    payment: { ...payment, paidAt: at },
    ...(n === 5 ? { reversals: reversalsOf(refunds, []) } : {}),
  };
}

const firstKey = { keyNumber: 1, declines: 0, deferrals: 0 };

async function take(world: ArchiveWorld, one: Step): Promise<void> {
  switch (one.kind) {
    case 'wait':
      world.time.now += 401 * dayMs;
      return;
    case 'import':
      return again(world, one.id);
    case 'tick':
      world.time.now += tickMs;
      return unlessDead(world.run(portsWith(world, one)));
    case 'twoTicks': {
      world.time.now += tickMs;
      const ports = portsWith(world, one);
      await Promise.all([unlessDead(world.run(ports)), unlessDead(world.run(ports))]);
      return;
    }
    case 'restore': {
      const parts = { ...portsWith(world, one), clock: world.clock, shards: world.shards };
      return unlessDead(restoreInvoice(parts, one.id, { by: 'ada', reason: 'test' }));
    }
  }
}

/** Ignores the death of the process in a step: only what the step leaves behind counts. */
async function unlessDead(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!/dead|could (not be|be neither)/.test(String(error))) throw error;
  });
}

function portsWith(world: ArchiveWorld, { writes, files }: { writes: Fault[]; files: Fault[] }) {
  const [nextWrite, nextFile] = [[...writes], [...files]];
  const documents: DocumentStore = {
    ...world.documents,
    async transact(partition, operations) {
      const fault = nextWrite.shift() ?? 'none';
      const send = () => world.documents.transact(partition, operations);
      switch (fault) {
        case 'none':
          return send();
        case 'lostBefore':
          return { kind: 'uncertain', cause: fault };
        case 'lostAfter':
          await send();
          return { kind: 'uncertain', cause: fault };
        case 'echo':
          await send();
          return send();
        case 'crashBefore':
          throw new Crash('dead');
        case 'crashAfter':
          await send();
          throw new Crash('dead');
        case 'changed': {
          const first = operations.find(({ kind }) => kind === 'replace');
          const id = first?.kind === 'replace' ? first.document.id : '';
          await world.documents.transact(partition, [
            { kind: 'patch', id, set: { touched: nextWrite.length } },
          ]);
          return send();
        }
      }
    },
  };
  const blobs: ArchiveBlobs = {
    ...world.ports.blobs,
    async create(name, text) {
      const fault = nextFile.shift() ?? 'none';
      if (fault === 'crashBefore') throw new Crash('dead');
      if (fault === 'changed') await world.ports.blobs.create(name, '');
      const created = await world.ports.blobs.create(name, text);
      if (fault === 'crashAfter') throw new Crash('dead');
      return fault === 'echo' ? world.ports.blobs.create(name, text) : created;
    },
  };
  return { documents, blobs };
}

/** An importer sends the same row again. */
async function again(world: ArchiveWorld, id: string): Promise<void> {
  const invoice = await world.invoices.find(id);
  if (invoice === undefined) throw new Error(`${id} is gone`);
  const { customerId, amountMinor, currency, dueAt, paymentMethod = '' } = invoice;
  const row = { id, customerId, amountMinor, currency, dueAt, paymentMethod };
  let outcome = '';
  await world.invoices.add([[row]], {
    by: 'importer',
    withinMs: 60_000,
    settled: (_, found) => {
      outcome = found;
    },
  });
  expect(outcome).toBe('duplicate');
}

async function checkAll(world: ArchiveWorld, before: Awaited<ReturnType<ArchiveWorld['figures']>>) {
  expect(await world.figures()).toEqual(before);
  const places = await Promise.all(ids.map((id) => world.where(id)));
  const { archived } = await world.invoices.counts(new Date(world.time.now).toISOString());
  expect(archived).toBe(places.filter((place) => place === 'archive').length);
  for (const [n, id] of ids.entries()) {
    const { timeline: _, ...expected } = some6(id, n);
    const { shard: __, _etag: ___, ...content } = expected;
    expect(await world.invoices.find(id)).toMatchObject(content);
    const place = await world.where(id);
    const { archivedAt } = (await world.invoices.find(id)) ?? {};
    expect(archivedAt === undefined).toBe(place === 'database');
    // A tombstone names one file, which has the invoice once.
    const named = [...world.files.values()]
      .flatMap(linesOf)
      .filter((line) => line.invoice.id === id && line.archivedAt === archivedAt);
    if (place === 'archive') expect(new Set(named.map((line) => JSON.stringify(line))).size).toBe(1);
  }
}
