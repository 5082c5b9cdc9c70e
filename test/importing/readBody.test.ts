import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { importLimits, mediaTypeOf } from '../../src/importing/readRows.ts';
import type { InvoiceContent } from '../../src/invoice/invoice.ts';
import { formatAmount } from '../../src/invoice/money.ts';
import { readBody } from '../support/importing.ts';
import { isFull } from '../support/onlyInFull.ts';

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

async function rowsOf(body: string | Uint8Array, type: string) {
  const { problem, ...read } = await readBody(body, type);
  if (problem !== undefined) throw new Error(problem.detail);
  return read;
}

async function problemOf(body: string | Uint8Array, type: string, limits = importLimits) {
  const { problem } = await readBody(body, type, limits);
  if (problem === undefined) throw new Error('taken');
  return problem;
}

const line = (id: string, rest = '19.99,USD,2026-01-31T12:00:00Z,pm_card_visa,') => `${id},cus_1,${rest}`;

describe('a JSON row that can be read in two ways', () => {
  const text = (fields: string) =>
    `[{"id":"inv-1","customerId":"cus_1","currency":"USD","dueAt":"2026-01-31T12:00:00Z",${fields}}]`;

  test.each([
    ['"amountMinor":100,"amountMinor":99999999', 'amountMinor'],
    ['"amountMinor":100,"id":"inv-2"', 'id'],
    ['"amountMinor":100,"amount\\u004dinor":200', 'amountMinor'],
    ['"description":"a:b","amountMinor":100,"description":"c"', 'description'],
  ])('is refused: %s', async (fields, field) => {
    const { rejected } = await rowsOf(text(fields), json);
    expect(rejected).toEqual([{ index: 0, field, error: 'is there twice: expected once' }]);
  });

  test('an amount is a float however its key is written', async () => {
    for (const key of ['amountMinor', 'amount\\u004dinor', '\\u0061mountMinor']) {
      const { rejected } = await rowsOf(text(`"${key}":199.0`), json);
      expect(rejected).toMatchObject([{ field: 'amountMinor' }]);
      expect((await rowsOf(text(`"${key}":199`), json)).rows).toHaveLength(1);
    }
  });

  test('colons, braces and quotes in texts are no keys', async () => {
    const description = JSON.stringify('"id": {"a": "\\\\"}, "id": "b"');
    const { rows } = await rowsOf(text(`"amountMinor":199,"description":${description}`), json);
    expect(rows).toHaveLength(1);
  });
});

describe('the content type', () => {
  test.each([
    [json, json],
    ['application/json; charset=utf-8', json],
    ['Application/JSON;charset=UTF-8', json],
    ['text/csv; charset=utf-8; header=present', csv],
    [null, ''],
    [undefined, ''],
    ['', ''],
    ['text/csv; charset=latin1', ''],
    ['nonsense', ''],
  ])('%j is read as %j', (given, type) => {
    expect(mediaTypeOf(given)).toBe(type);
  });
});

describe('a body', () => {
  test.each([
    [json, JSON.stringify(['a', 'b', 'c'].map((id) => invoice({ id })))],
    [csv, [header, line('a'), line('b'), line('c')].join('\n')],
  ])(
    'of %s with too many rows: those within the limit are read, and the rest is refused with 413',
    async (type, body) => {
      expect(await readBody(body, type, { ...importLimits, rows: 3 })).not.toHaveProperty('problem');
      const { rows, problem } = await readBody(body, type, { ...importLimits, rows: 2 });
      expect(rows.map(({ invoice: { id } }) => id)).toEqual(['a', 'b']);
      expect(problem).toMatchObject({ status: 413, detail: expect.stringContaining('at most 2 rows') });
    },
  );

  test('that is not UTF-8 costs the rows that are not', async () => {
    const latin1 = (text: string) => Buffer.from(text, 'latin1');
    const bad = invoice({ id: 'bad', description: 'M\xfcller' });
    const elements = latin1(JSON.stringify([invoice({ id: 'a' }), bad, invoice({ id: 'c' })]));
    const fromJson = await rowsOf(elements, json);
    expect(fromJson.rows.map(({ index }) => index)).toEqual([0, 2]);
    expect(fromJson.rejected).toEqual([{ index: 1, field: 'row', error: 'expected text in UTF-8' }]);
    const fromCsv = await rowsOf(
      latin1([header, line('a'), `${line('b')}M\xfcller`, line('c')].join('\n')),
      csv,
    );
    expect(fromCsv.rows.map(({ index }) => index)).toEqual([0, 2]);
    expect(fromCsv.rejected).toEqual([
      { index: 1, field: 'description', error: 'line 3: expected text in UTF-8' },
    ]);
  });

  test('of 10 MB is accepted whole', async () => {
    const [count, length] = isFull ? [125_000, 20] : [20_000, 450];
    const description = 'x'.repeat(length);
    const lines = Array.from({ length: count }, (_, n) =>
      line(`inv-${n}`, `19.99,USD,2026-01-31T12:00:00Z,pm_card_visa,${description}`),
    );
    const body = Buffer.from([header, ...lines].join('\n'));
    expect(body.byteLength).toBeGreaterThan(10_000_000);
    expect((await rowsOf(body, csv)).rows.length).toBe(count);
  });
});

describe('JSON', () => {
  test('good rows are accepted, and bad ones are reported by index', async () => {
    const rows = [invoice({ id: 'a' }), { ...invoice(), amountMinor: 19.99 }, 7, invoice({ id: 'b' })];
    const { rows: taken, rejected } = await rowsOf(JSON.stringify(rows), json);
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
    async (amount) => {
      const body = JSON.stringify([invoice({ id: 'a' }), invoice({ id: 'b' })]).replace('1999', amount);
      const { rows, rejected } = await rowsOf(body, json);
      expect(rows.map(({ index }) => index)).toEqual([1]);
      expect(rejected).toEqual([
        { index: 0, field: 'amountMinor', error: expect.stringContaining('whole number') },
      ]);
    },
  );

  test('may start with a byte order mark', async () => {
    expect((await rowsOf(Buffer.from('\ufeff[]'), json)).rows).toEqual([]);
    expect((await rowsOf('\ufeff[]', json)).rows).toEqual([]);
  });

  test.each([
    [`[{},{"id":"${'x'.repeat(20_000)}"},{}]`, 'expected a row of at most 16384 bytes'],
    [`[{},${'['.repeat(5_000)}${']'.repeat(5_000)},{}]`, 'expected at most 20 levels of nesting'],
  ])('%.20s: one row is bad, and what follows is read', async (body, error) => {
    const { rejected } = await rowsOf(body, json);
    expect(rejected[1]).toEqual({ index: 1, field: 'row', error });
    expect(rejected).toHaveLength(3);
  });

  const good = (id: string) => JSON.stringify(invoice({ id }));

  test.each([
    ['{"id": "a",}', 2, 12, 'Expected double-quoted property name'],
    ['{"id": "é",\n}', 3, 14, 'Expected double-quoted property name'],
    [' {"id":\n x}', 2, 2, "Unexpected token 'x'"],
    ['{} {}', 2, 4, 'Unexpected non-whitespace character after JSON'],
    ['{"id": 1]', 2, 9, "Expected ',' or '}' after property value"],
    ['{"id": "a', 2, 1, 'the body ends before the ] of its array'],
    ['', 2, 1, 'Unexpected end of JSON input'],
  ])('ends where it is no JSON, after the rows before: %j', async (row, lineOf, column, why) => {
    const before = `[${good('a')},${good('b')},\n`;
    const { rows, rejected, problem } = await readBody(`${before}${row},${good('c')}]`, json);
    expect(rows.map(({ index }) => index)).toEqual([0, 1]);
    expect(rejected).toEqual([]);
    expect(problem).toMatchObject({ status: 400 });
    const place = `row 2, line ${lineOf}, position ${before.length + column - 1}: ${why}`;
    expect(problem?.detail).toContain(`The body is not JSON: ${place}`);
    expect(problem?.detail).toMatch(
      /Sending the file again is safe: what is stored counts as a duplicate\.$/,
    );
  });

  test.each([
    ['[{a}, {b}]', 'row 0, line 1, position 2: Expected property name'],
    ['[{"id":"a"', 'row 0, line 1, position 1: the body ends before the ] of its array'],
    ['[{},\n', 'row 1, line 2, position 5: the body ends before the ] of its array'],
    ['[{},]', 'row 1, line 1, position 4: Unexpected end of JSON input'],
    ['[', 'row 0, line 1, position 1: the body ends before the ] of its array'],
    ['[] []', 'goes on after its array, with "["'],
    ['hello', 'the body begins with "h"'],
  ])('%s is refused where it can be read no further', async (body, why) => {
    const { problem } = await readBody(body, json);
    expect(problem).toMatchObject({ status: 400, detail: expect.stringContaining(why) });
  });

  test('what a refused row says is short, however much was sent', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}`, 1]));
    const unknown = { ...invoice(), ...many };
    const long = invoice({ id: 'x'.repeat(10_000), customerId: '\u200b'.repeat(2_000) });
    const { rejected } = await rowsOf(JSON.stringify([unknown, long, { ...many, ...long, id: {} }]), json);
    expect(rejected.map(({ error }) => error.length <= 600)).toEqual([true, true, true]);
    expect(rejected[0]?.error.match(/unknown field/g)).toHaveLength(3);
    expect(rejected[1]?.error).toContain(`not 10000: "${'x'.repeat(59)}…`);
  });

  test.each([
    ['', 'empty'],
    ['{}', 'a JSON array of invoices: the body begins with "{"'],
    ['null', 'begins with "n"'],
  ])('%j is refused: %s', async (body, why) => {
    expect(await problemOf(body, json)).toMatchObject({ status: 400, detail: expect.stringContaining(why) });
  });
});

describe('CSV', () => {
  test('may have a BOM, quotes, CRLF, line breaks inside quotes and empty lines', async () => {
    const body = `\ufeff${header}\r\n\r\n"a",cus_1,"19.99",USD,2026-01-31T12:00:00Z,pm_card_visa,"He said ""no"",\r\nthen paid"\r\n   \r\n${line('b')}\r\n`;
    expect(await rowsOf(Buffer.from(body), csv)).toEqual({
      rows: [
        { index: 0, invoice: invoice({ id: 'a', description: 'He said "no",\r\nthen paid' }) },
        { index: 1, invoice: invoice({ id: 'b' }) },
      ],
      duplicates: 0,
      rejected: [],
    });
  });

  test('may have its columns in any order, and no description', async () => {
    const body =
      'paymentMethod,dueAt,currency,amount,customerId,id\npm_card_visa,2026-01-31T12:00:00Z,USD,19.99,cus_1,a';
    expect((await rowsOf(body, csv)).rows).toEqual([{ index: 0, invoice: invoice({ id: 'a' }) }]);
  });

  test('a row with too few or too many columns, or a stray quote, is rejected alone', async () => {
    const body = [header, line('a'), 'b,cus_1', line('c,c'), line('d', '1"9,USD,x,"pm",'), line('e')].join(
      '\n',
    );
    const { rows, rejected } = await rowsOf(body, csv);
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
    ['LF', ['\n']],
    ['CRLF', ['\r\n']],
    ['CR', ['\r']],
    ['an LF header and CRLF rows', ['\n', '\r\n']],
    ['a CRLF header and LF rows', ['\r\n', '\n']],
    ['all of them', ['\r', '\n', '\r\n']],
  ])('reads the same with %s', async (_, ends) => {
    const lines = [header, ...['a', 'b', 'c', 'd'].map((id) => `${line(id)}of ${id}`), ''];
    const body = lines.map((each, n) => each + (ends[Math.min(n, ends.length - 1)] ?? '')).join('');
    expect(await rowsOf(body, csv)).toEqual({
      rows: ['a', 'b', 'c', 'd'].map((id, index) => ({
        index,
        invoice: invoice({ id, description: `of ${id}` }),
      })),
      duplicates: 0,
      rejected: [],
    });
  });

  test.each([
    ['a,"b"c', /^line 3: text after the closing quote/],
    ['a"', /^line 3: a double quote inside a value/],
    [`b,"${'x'.repeat(200_000)}"`, /^line 3: expected a row of at most 16384 bytes/],
    [`b,${','.repeat(200_000)}`, /^line 3: expected a row of at most 16384 bytes/],
    [`b,c,"${`\n${line('evil')}`.repeat(1_000)}"`, /^line 3: expected a row of at most 16384 bytes/],
    [`b"x,"\n${line('evil')}\n"`, /^line 3: a double quote inside a value/],
  ])('%.20s costs one row, and nothing inside its quotes is a row', async (row, error) => {
    const { rows, rejected } = await rowsOf([header, line('a'), row, line('c')].join('\n'), csv);
    expect(rows.map(({ index, invoice: { id } }) => [index, id])).toEqual([
      [0, 'a'],
      [2, 'c'],
    ]);
    expect(rejected).toEqual([{ index: 1, field: 'row', error: expect.stringMatching(error) }]);
  });

  test.each([
    [`${header}\n${line('a')}\nb,"c\n${line('d')}\n`, 'Line 3: the text ends inside a quoted value'],
    [`${header}\nb,"${'x'.repeat(200_000)}\n`, 'Line 2: the text ends inside a quoted value'],
    [`${'id,'.repeat(10_000_000)}`, 'Line 1: expected a row of at most 16384 bytes'],
    ['', 'The body is empty'],
    ['\n\n', 'The body is empty'],
  ])('%.80s is refused where it can be read no further', async (body, why) => {
    expect(await problemOf(body, csv)).toMatchObject({ status: 400, detail: expect.stringContaining(why) });
  });

  test('a header of thousands of columns is refused with twenty of its errors', async () => {
    const { errors = [] } = await problemOf(`${'x,'.repeat(8_000)}\n`, csv);
    expect(errors).toHaveLength(20);
    expect(errors.at(-1)).toEqual({ field: 'x', error: expect.stringContaining('unknown column') });
  });

  test('a bad header is refused with an error for each column', async () => {
    expect(await problemOf('id,id,customer,amount,curency,dueAt,paymentMethod,notes\n', csv)).toMatchObject({
      status: 400,
      errors: [
        { field: 'id', error: 'appears twice: expected once' },
        { field: 'customer', error: expect.stringMatching(/^unknown column: expected one of id, /) },
        { field: 'curency', error: expect.stringMatching(/^unknown column: expected one of id, /) },
        { field: 'notes', error: expect.stringMatching(/^unknown column: expected one of id, /) },
        { field: 'customerId', error: 'is missing: expected a column with this name' },
        { field: 'currency', error: 'is missing: expected a column with this name' },
      ],
    });
  });

  test('formulas and scripts are left unchanged: cells are data', async () => {
    const { rows } = await rowsOf(
      `${header}\n${line('=1+1', '500,JPY,2026-01-31T12:00:00Z,pm,<script>')}`,
      csv,
    );
    expect(rows[0]?.invoice).toMatchObject({ id: '=1+1', description: '<script>' });
  });
});

describe('the same id twice in one body', () => {
  test('with the same content is a duplicate, even if the time is written differently', async () => {
    const again = { ...invoice(), dueAt: '2026-01-31T13:00:00+01:00' };
    expect(await rowsOf(JSON.stringify([invoice(), invoice(), again]), json)).toEqual({
      rows: [{ index: 0, invoice: invoice() }],
      duplicates: 2,
      rejected: [],
    });
  });

  test('with other content is rejected, naming the first row', async () => {
    const rows = [7, invoice(), invoice({ amountMinor: 2000 }), invoice({ description: 'x' })];
    expect(await rowsOf(JSON.stringify(rows), json)).toMatchObject({
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

  test('is stored, a duplicate or rejected, and counted once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(mixed, fc.jsonValue())), async (rows) => {
        const { rows: taken, duplicates, rejected } = await rowsOf(JSON.stringify(rows), json);
        expect(taken.length + duplicates + rejected.length).toBe(rows.length);
        expect(new Set([...taken, ...rejected].map(({ index }) => index)).size).toBe(
          taken.length + rejected.length,
        );
      }),
    );
  });

  test('is the same in CSV as in JSON', async () => {
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
    await fc.assert(
      fc.asyncProperty(fc.array(mixed), async (rows) => {
        const fromJson = await rowsOf(JSON.stringify(rows), json);
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
        const fromCsv = await rowsOf([header, ...lines].join('\r\n'), csv);
        expect(fromCsv.rejected).toEqual([]);
        expect(fromCsv.rows.map((row) => row.invoice)).toEqual(fromJson.rows.map((row) => row.invoice));
      }),
    );
  });
});
