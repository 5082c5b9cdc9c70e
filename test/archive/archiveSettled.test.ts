import { describe, expect, test } from 'vitest';
import { StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { type ArchiveWorld, archiveWorld, dayMs, paidInvoice, tickMs } from './archiveWorld.ts';

const ids = Array.from({ length: 10 }, (_, n) => `inv-${n}`);
/** Picks the fields that an importer gave. */
const content = ({ id, customerId, amountMinor, currency, dueAt, paymentMethod }: Invoice) => ({
  id,
  customerId,
  amountMinor,
  currency,
  dueAt,
  ...(paymentMethod === undefined ? {} : { paymentMethod }),
});

async function imported(world: ArchiveWorld, row: ReturnType<typeof content>) {
  let outcome = '';
  const settled = (_: unknown, found: string) => {
    outcome = found;
  };
  await world.invoices.add([[row]], { by: 'importer', withinMs: 60_000, settled });
  return outcome;
}

test('what is old and settled moves; it is found with its timeline, and the figures stay as they were', async () => {
  const world = archiveWorld();
  await world.put(
    ...ids.map((id) => ({ id })),
    { id: 'open', status: 'parked' },
    { id: 'recent', timeline: [{ at: '2025-12-01T00:00:00.000Z', what: 'paid', by: 'host-a' }] },
  );
  const before = await world.figures();
  expect(await world.tick()).toEqual({ moved: 10, kept: 1, changed: 0, complete: true });
  for (const id of ids) expect(await world.where(id)).toBe('archive');
  for (const id of ['open', 'recent']) expect(await world.where(id)).toBe('database');
  expect(await world.figures()).toEqual(before);
  expect(before).toMatchObject({ byStatus: { paid: 11, parked: 1 }, charges: 12 });

  const { _etag, shard: _shard, ...expected } = paidInvoice({ id: 'inv-3' });
  expect(await world.invoices.find('inv-3')).toMatchObject({
    ...expected,
    archivedAt: '2026-01-01T00:00:00.000Z',
  });
  expect(await world.stored.find('inv-3')).toBeUndefined();
  const moved = world.telemetry.values(metric.archiveMoved);
  expect(moved.reduce((sum, n) => sum + n, 0)).toBe(10);
  expect(world.telemetry.values(metric.archiveInvoices)).toEqual([0, 10]);
  expect(world.telemetry.values(metric.archiveBehindMs)).toEqual([0, 0]);
});

test('a storage account that fails over without its last quarter of an hour loses no invoice', async () => {
  for (let failover = 0; failover < 8; failover++) {
    const world = archiveWorld();
    await world.put(...ids.map((id) => ({ id })));
    for (let n = 0; n < 12; n++) {
      await world.run();
      const young = new Date(world.time.now - 15 * 60_000).toISOString().replaceAll(/[-:]/g, '');
      if (n === failover)
        for (const name of world.files.keys()) if (name.slice(11) > young) world.files.delete(name);
      for (const id of ids) expect(await world.invoices.find(id)).toMatchObject({ id, status: 'paid' });
      world.time.now += 10 * 60_000;
    }
    for (const id of ids) expect(await world.where(id)).toBe('archive');
  }
});

test('one that stays as it was is moved once its file is half an hour old; one that changes is copied anew', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' }, { id: 'b' });
  expect(await world.run()).toMatchObject({ copied: 2, moved: 0 });
  world.time.now += 29 * 60_000;
  expect(await world.run()).toMatchObject({ copied: 0, moved: 0 });
  await world.documents.transact(world.shardOf('b'), [{ kind: 'patch', id: 'b', set: { touched: 1 } }]);
  world.time.now += 60_000;
  expect(await world.run()).toMatchObject({ moved: 1 });
  expect(await world.where('a')).toBe('archive');
  expect(await world.where('b')).toBe('database');
  world.time.now += 402 * dayMs;
  await world.tick();
  await world.archive.restore('b', { by: 'ada' });
  expect(await world.documents.read(world.shardOf('b'), ['b'])).toMatchObject([{ touched: 1 }]);
});

test('a second run finds nothing left', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' });
  await world.tick();
  const files = new Map(world.files);
  expect(await world.tick()).toEqual({ moved: 0, kept: 0, changed: 0, complete: true });
  expect(world.files).toEqual(files);
});

describe('an archived invoice is never imported again', () => {
  test('the same content is a duplicate, other content is refused', async () => {
    const world = archiveWorld();
    await world.put({ id: 'a' });
    await world.tick();
    const row = content(paidInvoice({ id: 'a' }));
    expect(await imported(world, row)).toBe('duplicate');
    expect(await imported(world, { ...row, amountMinor: 1 })).toBe('otherContent');
    expect(await world.where('a')).toBe('archive');
  });

  test('by its first due date, if that was moved', async () => {
    const world = archiveWorld();
    const row = content(paidInvoice({ id: 'a' }));
    await world.put({ id: 'a', dueAt: '2026-02-01T00:00:00.000Z', importedDueAt: row.dueAt });
    await world.tick();
    expect(await imported(world, row)).toBe('duplicate');
  });

  test('and not a hundred years later', async () => {
    const world = archiveWorld();
    await world.put({ id: 'a' });
    await world.tick();
    world.time.now += 36_525 * 86_400_000;
    expect(await imported(world, content(paidInvoice({ id: 'a' })))).toBe('duplicate');
    expect(await world.where('a')).toBe('archive');
  });
});

describe('what stays', () => {
  test('an invoice of a newer release, and one that cannot be read', async () => {
    const world = archiveWorld();
    await world.put({ id: 'newer', version: 99 }, { id: 'broken', amountMinor: 'much' as never });
    expect(await world.tick()).toMatchObject({ moved: 0, kept: 2, complete: true });
    for (const id of ['newer', 'broken']) expect(await world.where(id)).toBe('database');
  });
});

test('fields that this release does not know come back', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a', ofTomorrow: { n: 1 } } as Partial<Invoice>);
  await world.tick();
  await world.archive.restore('a', { by: 'ada' });
  expect(await world.documents.read(world.shardOf('a'), ['a'])).toMatchObject([{ ofTomorrow: { n: 1 } }]);
});

test('an invoice that somebody changes at that moment stays as they left it', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' }, { id: 'b' });
  const { documents } = world;
  const shard = world.shardOf('a');
  let changed = false;
  const interrupted = {
    ...documents,
    async transact(partition: string, operations: Parameters<typeof documents.transact>[1]) {
      if (partition === shard && !changed) {
        changed = true;
        await documents.transact(shard, [{ kind: 'patch', id: 'a', set: { reason: 'changed' } }]);
      }
      return documents.transact(partition, operations);
    },
  };
  expect(await world.tick({ documents: interrupted })).toMatchObject({ moved: 1, changed: 1 });
  expect(await world.stored.find('a')).toMatchObject({ reason: 'changed' });
  expect(await world.where('b')).toBe('archive');
});

test('a transaction has room for the figures: reports of many days fill it up sooner', async () => {
  const world = archiveWorld();
  await world.put(
    ...Array.from({ length: 120 }, (_, n) => {
      const paidAt = new Date(
        Date.parse('2000-01-15T00:00:00.000Z') + n * 31 * 86_400_000 * 0.6,
      ).toISOString();
      return { id: `inv-${n}`, payment: { ...paidInvoice().payment, id: `pi_${n}`, paidAt } };
    }),
  );
  const before = await world.figures();
  expect(await world.tick()).toMatchObject({ moved: 120, complete: true });
  expect(await world.figures()).toEqual(before);
});

test('a shard that is away is left out and named; the others are gone through', async () => {
  const away = shardOf('a', 2);
  const other = ids.find((id) => shardOf(id, 2) !== away) ?? '';
  let isAway = false;
  const world = archiveWorld({ readFault: (shard) => (isAway && shard === away ? 'noAnswer' : undefined) });
  await world.put({ id: 'a' }, { id: other });
  await world.run();
  world.time.now += tickMs;
  isAway = true;
  await expect(world.run()).rejects.toThrow(`shard ${away}`);
  expect(world.telemetry.values(metric.archiveFailed)).toEqual([1]);
  isAway = false;
  expect(await world.where(other)).toBe('archive');
  expect(await world.where('a')).toBe('database');
});

test('a run whose time is up says how late the rest is, and the next one goes on', async () => {
  const world = archiveWorld();
  await world.put(...Array.from({ length: 400 }, (_, n) => ({ id: `inv-${n}` })));
  const stopping = new AbortController();
  let files = 0;
  const blobs = {
    ...world.ports.blobs,
    async create(name: string, text: string) {
      if (++files === 2) stopping.abort();
      return world.ports.blobs.create(name, text);
    },
  };
  const cut = await world.run({ blobs, stopping: stopping.signal });
  expect(cut).toMatchObject({ copied: 160, moved: 0, complete: false });
  // Paid on 2024-01-01, to be moved 400 days later, on 2025-02-04; it is 2026-01-01.
  const days = (world.telemetry.values(metric.archiveBehindMs)[0] ?? 0) / dayMs;
  expect(days).toBeGreaterThan(330);
  expect(days).toBeLessThan(331);
  world.time.now += tickMs;
  expect(await world.run()).toMatchObject({ copied: 240, moved: 160, complete: true });
  world.time.now += tickMs;
  expect(await world.run()).toMatchObject({ copied: 0, moved: 240, complete: true });
  expect(world.telemetry.values(metric.archiveInvoices)).toEqual([0, 160, 400]);
});

test('without its lease it writes nothing', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' });
  let asked = 0;
  const assertHeld = () => {
    if (++asked > 1) throw new StoreAway('noAnswer', new Error('lost'), 'the lease is lost');
  };
  await expect(world.tick({ assertHeld })).rejects.toThrow('the lease is lost');
  expect(world.files.size).toBe(0);
  expect(await world.where('a')).toBe('database');
});
