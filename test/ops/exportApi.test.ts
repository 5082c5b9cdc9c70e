import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { columns } from '../../src/importing/csvRows.ts';
import { reversalsOf } from '../../src/invoice/reversals.ts';
import { exportInvoices, mostExported } from '../../src/ops/invoiceCalls.ts';
import type { OpsResponse } from '../../src/ops/requests.ts';
import { csvLine } from '../../src/platform/csv.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { readBody } from '../support/importing.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const textOf = ({ body = '' }: OpsResponse) => body;

const exported = async (query: Record<string, string> = {}) =>
  textOf(await ops.api.exportInvoices(aRequest({ query })));

const header =
  'id,customerId,amount,currency,dueAt,paymentMethod,description,status,reason,attempts,createdAt,paidAt,paymentId,declinedAt,refunded,disputed,notes';

test('of no invoice there is the header, which begins with the columns of an import', async () => {
  expect(header.split(',').slice(0, columns.length).toSorted()).toEqual(columns.toSorted());
  expect(await exported()).toBe(`${header}\r\n`);
});

describe('with invoices', () => {
  const formula = `=cmd|"/c calc"!A1`;
  const odd = [
    { id: '=1+1', description: formula },
    { id: "'=1", customerId: '@SUM(A1)', description: "'it'" },
    { id: '-1', description: '\tindented,\r\n"quoted"' },
    { id: 'größe 😀', description: 'ends with a blank ' },
    { id: '+49', currency: 'JPY', amountMinor: 500 },
    { id: 'plain', currency: 'KWD', amountMinor: 1_000_500 },
  ];
  beforeAll(async () => {
    await ops.store(...odd.map((one, n) => ({ ...one, shard: `0${n % 4}` })));
    await ops.store({
      id: 'paid',
      status: 'paid',
      customerId: 'other',
      payment: { ...anInvoice().payment, id: 'pi_1', paidAt: '2026-01-01T10:00:00.000Z' },
      reversals: reversalsOf(
        [{ id: 'r', amountMinor: 50, status: 'succeeded', at: '2026-01-02T10:00:00.000Z' }],
        [{ id: 'd', amountMinor: 1999, status: 'open', at: '2026-01-02T10:00:00.000Z', reason: 'x' }],
      ),
    });
  });

  test('one line each, for an attachment of CSV', async () => {
    const response = await ops.api.exportInvoices(aRequest({ query: { status: 'paid' } }));
    expect(response.headers).toEqual({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="invoices.csv"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(textOf(response)).toBe(
      `${header}\r\npaid,other,19.99,USD,2026-01-01T12:00:00.000Z,pm_card_visa,,paid,,0,2025-12-01T00:00:00.000Z,` +
        '2026-01-01T10:00:00.000Z,pi_1,,0.50,19.99,\r\n',
    );
  });

  test('notes are in the last column, a line each, and begin no formula', async () => {
    const notes = [
      { at: '2026-01-02T10:00:00.000Z', what: 'note', by: 'ada', text: 'she rang' },
      { at: '2026-01-03T10:00:00.000Z', what: 'note', by: 'bob', text: '=1+1' },
    ];
    const [imported] = anInvoice().timeline;
    const timeline = imported === undefined ? notes : [imported, ...notes];
    await ops.store({ id: 'noted', customerId: 'of notes', timeline });
    const [, row = []]: string[][] = parse(await exported({ customer: 'of notes' }));
    expect(row.at(-1)).toBe('2026-01-02T10:00:00.000Z ada: she rang\n2026-01-03T10:00:00.000Z bob: =1+1');
    await ops.cosmos.containers.invoices.item('noted', '00').delete();
  });

  test('no cell begins a formula', async () => {
    const rows: string[][] = parse(await exported());
    expect(rows).toHaveLength(odd.length + 2);
    for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
    expect(rows.flat()).toContain(`'${formula}`);
  });

  test('the columns of an import, cut out, import as what is stored', async () => {
    const rows: string[][] = parse(await exported());
    const cut = rows.map((row) => csvCells(row.slice(0, columns.length))).join('');
    const read = await readBody(cut, 'text/csv');
    expect(read).toMatchObject({ rejected: [] });
    expect(read).not.toHaveProperty('problem');
    const found = read.rows.map(({ invoice }) => invoice);
    const key = ({ id }: { id: string }) => id;
    for (const one of odd) {
      expect(found.find((invoice) => key(invoice) === one.id)).toMatchObject(one);
    }
  });
  /** Cells as they are: they have their apostrophes already. */
  const csvCells = (cells: string[]) =>
    `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`;

  test('narrowed as a list is, in the order of a list', async () => {
    const rows: string[][] = parse(await exported({ customer: 'cus-1', dueBefore: '2027-01-01T00:00:00Z' }));
    const listed = bodyOf(await ops.api.listInvoices(aRequest({ query: { customer: 'cus-1' } })));
    const ids = (listed as { invoices: { id: string }[] }).invoices.map(({ id }) => csvLine([id]));
    expect(rows.slice(1).map(([id = '']) => csvCells([id]))).toEqual(
      ids.map((line) => csvCells(parse(line)[0] ?? [])),
    );
    expect(ids.length).toBe(5);
  });

  test('a wrong or unknown parameter is a problem', async () => {
    for (const query of [{ currency: 'x' }, { continuation: 'x' }, { format: 'csv' }]) {
      const response = await ops.api.exportInvoices(aRequest({ query }));
      expect(response.status).toBe(400);
      expect(bodyOf(response)).toMatchObject({ errors: [{ field: Object.keys(query)[0] }] });
    }
  });

  test('a store that goes away in between is an error of the call: a part never passes for the whole', async () => {
    let left = 2;
    const invoices = {
      list() {
        if (left-- <= 0) return Promise.reject(new Error('away'));
        return Promise.resolve({ items: [anInvoice()], continuation: 'more' });
      },
    };
    await expect(exportInvoices(invoices, {})).rejects.toThrow('away');
  });

  test('more than fit into one answer are refused with the advice to ask for fewer', async () => {
    const of = (count: number) => ({
      list: () => Promise.resolve({ items: Array.from({ length: count }, () => anInvoice()) }),
    });
    expect(await exportInvoices(of(mostExported + 1), {})).toMatchObject({
      status: 413,
      body: expect.stringContaining('ask for fewer by customer'),
    });
    expect(textOf(await exportInvoices(of(mostExported), {})).split('\n')).toHaveLength(100_002);
  });
});
