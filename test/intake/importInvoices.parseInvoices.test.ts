import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyLimits, parseInvoices } from '../../src/intake/importInvoices.ts';
import type { InvoiceContent } from '../../src/invoice/invoice.ts';
import { formatAmount } from '../../src/invoice/money.ts';

const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description';
const json = 'application/json';
const csv = 'text/csv';

const invoice = (change: Partial<InvoiceContent> = {}): InvoiceContent => ({
  id: 'inv-1',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2026-01-31T12:00:00.000Z',
  paymentMethod: 'pm_card_visa',
  ...change,
});

function rowsOf(body: string | Uint8Array, type: string) {
  const parsed = parseInvoices(body, type);
  if (parsed.kind === 'problem') throw new Error(parsed.problem.detail);
  return parsed;
}

function problemOf(
  body: string | Uint8Array,
  type: string | null | undefined,
  limits?: { bytes: number; rows: number },
) {
  const parsed = parseInvoices(body, type, limits);
  if (parsed.kind !== 'problem') throw new Error('taken');
  return parsed.problem;
}

const line = (id: string, rest = '19.99,USD,2026-01-31T12:00:00Z,pm_card_visa,') => `${id},cus_1,${rest}`;

describe('a body', () => {
  test.each([json, 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])(
    'of %s is read as JSON',
    (type) => {
      expect(rowsOf('[]', type)).toEqual({ kind: 'invoices', rows: [], duplicates: 0, rejected: [] });
    },
  );

  test.each([csv, 'text/csv; charset=utf-8; header=present'])('of %s is read as CSV', (type) => {
    expect(rowsOf(header, type).rows).toEqual([]);
  });

  test.each([null, undefined, '', 'text/plain', 'application/xml', 'text/csv; charset=latin1', 'nonsense'])(
    'of the type %j is refused with 415',
    (type) => {
      expect(problemOf('[]', type)).toMatchObject({
        status: 415,
        detail: expect.stringContaining('application/json or text/csv'),
      });
    },
  );

  test('above the size limit is refused with 413 and the limit', () => {
    const { status, detail } = problemOf(Buffer.alloc(bodyLimits.bytes + 1, ' '), csv);
    expect({ status, detail }).toEqual({
      status: 413,
      detail: expect.stringContaining('at most 33554432 bytes'),
    });
  });

  test.each([
    [json, JSON.stringify([invoice({ id: 'a' }), invoice({ id: 'b' }), invoice({ id: 'c' })])],
    [csv, [header, line('a'), line('b'), line('c')].join('\n')],
  ])('of %s with too many rows is refused with 413 and the limit', (type, body) => {
    expect(parseInvoices(body, type, { bytes: 10_000, rows: 3 }).kind).toBe('invoices');
    expect(problemOf(body, type, { bytes: 10_000, rows: 2 })).toMatchObject({
      status: 413,
      detail: expect.stringContaining('at most 2 '),
    });
  });

  test.each([json, csv])('of %s that is not UTF-8 is refused', (type) => {
    expect(problemOf(Buffer.from([0x5b, 0xff, 0x5d]), type)).toMatchObject({ status: 400 });
  });

  test('of 10 MB is accepted whole', () => {
    const description = 'x'.repeat(20);
    const lines = Array.from({ length: 125_000 }, (_, n) =>
      line(`inv-${n}`, `19.99,USD,2026-01-31T12:00:00Z,pm_card_visa,${description}`),
    );
    const body = Buffer.from([header, ...lines].join('\n'));
    expect(body.byteLength).toBeGreaterThan(10_000_000);
    expect(rowsOf(body, csv).rows.length).toBe(125_000);
  });
});

describe('JSON', () => {
  test('good rows are accepted, and bad ones are reported by index', () => {
    const rows = [invoice({ id: 'a' }), { ...invoice(), amountMinor: 19.99 }, 7, invoice({ id: 'b' })];
    const { rows: taken, rejected } = rowsOf(JSON.stringify(rows), json);
    expect(taken).toEqual([
      { index: 0, invoice: invoice({ id: 'a' }) },
      { index: 3, invoice: invoice({ id: 'b' }) },
    ]);
    expect(rejected.map(({ index, field }) => [index, field])).toEqual([
      [1, 'amountMinor'],
      [2, 'row'],
    ]);
  });

  test.each(['1999.0', '1.999e3', '1999E0', '19.99', '1e400', '9007199254740993'])(
    'the amount %s is rejected: written as a float, or not exact',
    (amount) => {
      const body = JSON.stringify([invoice({ id: 'a' }), invoice({ id: 'b' })]).replace('1999', amount);
      const { rows, rejected } = rowsOf(body, json);
      expect(rows.map(({ index }) => index)).toEqual([1]);
      expect(rejected).toEqual([
        { index: 0, field: 'amountMinor', error: expect.stringContaining('whole number') },
      ]);
    },
  );

  test('may start with a byte order mark', () => {
    expect(rowsOf(Buffer.from('\ufeff[]'), json).rows).toEqual([]);
    expect(rowsOf('\ufeff[]', json).rows).toEqual([]);
  });

  test('that is malformed is refused with the position of the error', () => {
    expect(problemOf('[\n  {"id": "a",}\n]', json)).toMatchObject({
      status: 400,
      detail: 'The body is not JSON: at line 2, column 14: expected a name in double quotes, found "}".',
    });
  });

  test.each([
    ['', 'empty'],
    ['{}', 'not an object'],
    ['null', 'not null'],
    ['"[]"', 'not a string'],
  ])('%j is refused: %s', (body, why) => {
    expect(problemOf(body, json)).toMatchObject({ status: 400, detail: expect.stringContaining(why) });
  });
});

describe('CSV', () => {
  test('may have a BOM, quotes, CRLF, line breaks inside quotes and empty lines', () => {
    const body = `\ufeff${header}\r\n\r\n"a",cus_1,"19.99",USD,2026-01-31T12:00:00Z,pm_card_visa,"He said ""no"",\r\nthen paid"\r\n   \r\n${line('b')}\r\n`;
    expect(rowsOf(Buffer.from(body), csv)).toEqual({
      kind: 'invoices',
      rows: [
        { index: 0, invoice: invoice({ id: 'a', description: 'He said "no",\r\nthen paid' }) },
        { index: 1, invoice: invoice({ id: 'b' }) },
      ],
      duplicates: 0,
      rejected: [],
    });
  });

  test('may have its columns in any order, and no description', () => {
    const body =
      'paymentMethod,dueAt,currency,amount,customerId,id\npm_card_visa,2026-01-31T12:00:00Z,USD,19.99,cus_1,a';
    expect(rowsOf(body, csv).rows).toEqual([{ index: 0, invoice: invoice({ id: 'a' }) }]);
  });

  test('a row with too few or too many columns, or a stray quote, is rejected alone', () => {
    const body = [header, line('a'), 'b,cus_1', line('c,c'), line('d', '1"9,USD,x,"pm",'), line('e')].join(
      '\n',
    );
    const { rows, rejected } = rowsOf(body, csv);
    expect(rows.map(({ index, invoice: { id } }) => [index, id])).toEqual([
      [0, 'a'],
      [4, 'e'],
    ]);
    expect(rejected).toEqual([
      { index: 1, field: 'row', error: 'line 3: expected 7 columns, like the header, not 2' },
      { index: 2, field: 'row', error: 'line 4: expected 7 columns, like the header, not 8' },
      { index: 3, field: 'row', error: expect.stringMatching(/^line 5: a double quote inside a value/) },
    ]);
  });

  test.each([
    [`${header}\na,"b"c\n`, 'Line 2: text after the closing quote'],
    [`${header}\n${line('a')}\nb,"c\n${line('d')}\n`, 'ends inside a quoted value'],
    [`${header}\nb,"${'x'.repeat(200_000)}\n`, 'closing quote'],
    ['', 'The body is empty'],
    ['\n\n', 'The body is empty'],
  ])('%j is refused whole: the next row could begin anywhere', (body, why) => {
    expect(problemOf(body, csv)).toMatchObject({ status: 400, detail: expect.stringContaining(why) });
  });

  test('a bad header is refused with an error for each column', () => {
    expect(problemOf('id,id,customer,amount,curency,dueAt,paymentMethod,notes\n', csv)).toMatchObject({
      status: 400,
      errors: [
        { field: 'id', error: 'appears twice: expected once' },
        { field: 'customer', error: 'unknown column: did you mean customerId?' },
        { field: 'curency', error: 'unknown column: did you mean currency?' },
        { field: 'notes', error: expect.stringMatching(/^unknown column: expected one of id, /) },
        { field: 'customerId', error: 'is missing: expected a column with this name' },
        { field: 'currency', error: 'is missing: expected a column with this name' },
      ],
    });
  });

  test('formulas and scripts are left unchanged: cells are data', () => {
    const { rows } = rowsOf(`${header}\n${line('=1+1', '500,JPY,2026-01-31T12:00:00Z,pm,<script>')}`, csv);
    expect(rows[0]?.invoice).toMatchObject({ id: '=1+1', description: '<script>' });
  });
});

describe('the same id twice in one body', () => {
  test('with the same content is a duplicate, even if the time is written differently', () => {
    const again = { ...invoice(), dueAt: '2026-01-31T13:00:00+01:00' };
    expect(rowsOf(JSON.stringify([invoice(), invoice(), again]), json)).toEqual({
      kind: 'invoices',
      rows: [{ index: 0, invoice: invoice() }],
      duplicates: 2,
      rejected: [],
    });
  });

  test('with other content is rejected, naming the first row', () => {
    const rows = [7, invoice(), invoice({ amountMinor: 2000 }), invoice({ description: 'x' })];
    expect(rowsOf(JSON.stringify(rows), json)).toMatchObject({
      rows: [{ index: 1 }],
      duplicates: 0,
      rejected: [
        { index: 0 },
        { index: 2, field: 'id', error: '"inv-1" repeats the id of row 1 with other content' },
        { index: 3, field: 'id' },
      ],
    });
  });
});

describe('every row', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const mixed = fc.record(
    {
      id: fc.oneof(fc.constantFrom('a', 'b', 'c/d'), text),
      customerId: fc.constantFrom('cus_1', 'cus_2'),
      amountMinor: fc.oneof(fc.integer({ min: -2, max: 200_000_000 }), fc.double()),
      currency: fc.constantFrom('USD', 'JPY', 'KWD', 'usd'),
      dueAt: fc.constantFrom('2026-01-31T12:00:00Z', '2026-01-31', '2099-12-31T23:59:59+01:00'),
      paymentMethod: fc.constant('pm_card_visa'),
      description: text,
    },
    { requiredKeys: ['id', 'customerId', 'amountMinor', 'currency', 'dueAt'] },
  );

  test('is stored, a duplicate or rejected, and counted once', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(mixed, fc.jsonValue())), (rows) => {
        const { rows: taken, duplicates, rejected } = rowsOf(JSON.stringify(rows), json);
        expect(taken.length + duplicates + rejected.length).toBe(rows.length);
        expect(new Set([...taken, ...rejected].map(({ index }) => index)).size).toBe(
          taken.length + rejected.length,
        );
      }),
    );
  });

  test('is the same in CSV as in JSON', () => {
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
    fc.assert(
      fc.property(fc.array(mixed), (rows) => {
        const fromJson = rowsOf(JSON.stringify(rows), json);
        const good = rows.filter((_, index) => fromJson.rows.some((row) => row.index === index));
        const lines = good.map((row) =>
          [
            row.id,
            row.customerId,
            formatAmount(row.amountMinor, row.currency),
            row.currency,
            row.dueAt,
            row.paymentMethod ?? '',
            row.description ?? '',
          ].map(quoted),
        );
        const fromCsv = rowsOf([header, ...lines].join('\r\n'), csv);
        expect(fromCsv.rejected).toEqual([]);
        expect(fromCsv.rows.map((row) => row.invoice)).toEqual(fromJson.rows.map((row) => row.invoice));
      }),
    );
  });
});
