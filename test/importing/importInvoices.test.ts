import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { type GoodRow, importRows } from '../support/importing.ts';
import { hastyClock } from '../support/payingWorld.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const shards = 4;

function row(id: string, index = 0, changes: Partial<GoodRow['invoice']> = {}): GoodRow {
  const invoice = {
    id,
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2026-01-01T00:00:00.000Z',
    paymentMethod: 'pm_card_visa',
    ...changes,
  };
  return { index, invoice };
}

const rowsOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => row(`${prefix}-${n}`, n));

function load(rows: readonly GoodRow[], by = 'tester') {
  return importRows(store(), rows, by);
}

function store(container = cosmos.containers.invoices, clock = hastyClock) {
  return cosmosInvoiceStore(container, { clock, shards });
}

const find = (id: string) => store().find(id);

describe('importInvoices', () => {
  test('stores each row in its shard, pending, due at its time, with the name of the importer', async () => {
    expect(await load(rowsOf('new', 250))).toEqual({ created: 250, duplicates: 0, rejected: [] });
    for (const id of ['new-0', 'new-249']) {
      expect(await find(id)).toMatchObject({
        status: 'pending',
        shard: shardOf(id, shards),
        actionableAt: '2026-01-01T00:00:00.000Z',
        attempts: 0,
        payment: { keyNumber: 1, declines: 0, deferrals: 0 },
        timeline: [{ what: 'imported', by: 'tester' }],
      });
    }
  });

  test('an empty import stores nothing', async () => {
    expect(await load([])).toEqual({ created: 0, duplicates: 0, rejected: [] });
  });

  test('the same rows again are duplicates, and nothing changes', async () => {
    await load(rowsOf('twice', 30));
    const before = await find('twice-3');
    expect(await load([...rowsOf('twice', 30), row('twice-new', 30)])).toEqual({
      created: 1,
      duplicates: 30,
      rejected: [],
    });
    expect(await find('twice-3')).toEqual(before);
  });

  test('an id stored with other content is rejected under its row, and the other rows are stored', async () => {
    await load([row('fixed', 0)]);
    const result = await load([row('beside', 0), row('fixed', 1, { amountMinor: 1 }), row('also', 2)]);
    expect(result).toEqual({
      created: 2,
      duplicates: 0,
      rejected: [{ index: 1, field: 'id', error: '"fixed" is stored already with other content' }],
    });
    expect(await find('fixed')).toMatchObject({ amountMinor: 1999 });
  });

  test('an invoice that has moved on since is still a duplicate', async () => {
    await load([row('moved')]);
    await cosmos.containers.invoices
      .item('moved', shardOf('moved', shards))
      .patch([{ op: 'set', path: '/status', value: 'paid' }]);
    expect(await load([row('moved')])).toMatchObject({ created: 0, duplicates: 1 });
    expect(await find('moved')).toMatchObject({ status: 'paid' });
  });

  test('an id that another kind of document has in its shard is rejected, not retried forever', async () => {
    const shard = shardOf('taken', shards);
    await cosmos.containers.invoices.items.create({ id: 'taken', shard, type: 'outboxMessage' });
    expect(await load([row('taken', 7), row('free', 8)])).toEqual({
      created: 1,
      duplicates: 0,
      rejected: [{ index: 7, field: 'id', error: '"taken" is the id of something else here' }],
    });
  });

  test.each(['reset-after', 'reset-before', '503', '408'])(
    'a lost answer (%s): the rows it stored count as created',
    async (kind) => {
      const rows = rowsOf(`lost-${kind}`, 40);
      await cosmos.fault({ kind, count: 6, filter: { operation: 'batch' } });
      expect(await load(rows)).toEqual({ created: 40, duplicates: 0, rejected: [] });
      await cosmos.clearFaults();
      expect(await load(rows)).toEqual({ created: 0, duplicates: 40, rejected: [] });
    },
  );

  test('if the last try stored the rows and only its answer was lost, they count as created', async () => {
    const rows = [row('last-0')];
    const filter = { operation: 'batch' };
    await cosmos.fault({ kind: '503', count: 5, filter });
    await cosmos.fault({ kind: 'reset-after', count: 4, filter });
    expect(await load(rows)).toMatchObject({ created: 1 });
    await cosmos.clearFaults();
  });

  test('one shard without a clear answer: its rows must be sent again, the others are stored', async () => {
    const rows = rowsOf('half', 40);
    const unclear = rows.filter(({ invoice }) => shardOf(invoice.id, shards) === '02');
    await cosmos.fault({ kind: '503', count: 200, filter: { operation: 'batch', partitionKey: '02' } });
    const result = await load(rows);
    await cosmos.clearFaults();
    expect(unclear.length).toBeGreaterThan(0);
    expect(result).toMatchObject({ created: 40 - unclear.length, duplicates: 0 });
    expect(result.rejected).toEqual(
      unclear.map(({ index, invoice: { id } }) => ({
        index,
        field: 'id',
        error: `"${id}" may have been stored, which is unclear: send it again`,
      })),
    );
    expect(String(result.failure)).toContain(
      'shard 02 could not be stored: the store gave no clear answer in 7 tries',
    );
    expect(await load(rows)).toEqual({
      created: unclear.length,
      duplicates: 40 - unclear.length,
      rejected: [],
    });
  });

  test('if the read afterwards is refused too, it is retried', async () => {
    await cosmos.fault({ kind: '503', count: 4, filter: { partitionKey: shardOf('look-0', shards) } });
    expect(await load([row('look-0')])).toMatchObject({ created: 1, rejected: [] });
    await cosmos.clearFaults();
  });

  test('a store that refuses the request: nothing is stored, and the reason is given', async () => {
    const container = cosmos.containers.invoices.database.container('not-there');
    const { created, rejected, failure } = await importRows(store(container), rowsOf('barred', 3), 'tester');
    expect(created).toBe(0);
    expect(rejected.map(({ error }) => error)).toContain('"barred-0" has not been stored: send it again');
    expect(failure).toBeInstanceOf(Error);
  });

  test('rows with no time left before the request times out must be sent again', async () => {
    let time = 0;
    // A minute passes before each transaction.
    const slow = { ...hastyClock, monotonic: () => (time += 60_000) };
    const rows = rowsOf('slow', 900);
    const { created, rejected } = await importRows(store(undefined, slow), rows, 'tester');
    expect(created).toBeGreaterThan(0);
    expect(created + rejected.length).toBe(900);
    expect(rejected[0]?.error).toMatch(/^"slow-\d+" has not been stored: send it again$/);
    expect(await load(rows)).toEqual({ created: rejected.length, duplicates: created, rejected: [] });
  });

  test('two imports of the same rows at the same time store each once', async () => {
    const rows = rowsOf('race', 60);
    const results = await Promise.all([load(rows), load(rows)]);
    expect(results.reduce((sum, { created }) => sum + created, 0)).toBe(60);
    expect(results.reduce((sum, { duplicates }) => sum + duplicates, 0)).toBe(60);
  });
});
