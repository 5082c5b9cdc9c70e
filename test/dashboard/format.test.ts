import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatAmount } from '../../src/invoice/money.ts';
import { amountText, counted, sumsText } from '../../ui/src/format/amountText.ts';
import { bulkText } from '../../ui/src/format/bulkText.ts';
import { fileText, tellingWords } from '../../ui/src/format/fileText.ts';
import { periodName, periodOf } from '../../ui/src/format/periods.ts';
import { idIn, refusedFile } from '../../ui/src/format/refusedFile.ts';
import { duration, relativeTime } from '../../ui/src/format/relativeTime.ts';
import { reversalTexts } from '../../ui/src/format/reversalText.ts';
import { type SplitFile, splitFile } from '../../ui/src/format/splitFile.ts';
import { nextPollMs } from '../../ui/src/hooks/nextPoll.ts';
import { readBody } from '../support/importing.ts';

describe('amounts', () => {
  test.each([
    [123450, 'EUR', '1,234.50'],
    [5, 'USD', '0.05'],
    [500, 'JPY', '500'],
    [1234567, 'JPY', '1,234,567'],
    [15430, 'TND', '15.430'],
    [-1999, 'GBP', '-19.99'],
    [0, 'KWD', '0.000'],
  ])('%d minor units of %s are %s', (minor, currency, text) => {
    expect(amountText(minor, currency)).toBe(text);
  });

  test('without the commas they are what the app itself writes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
        fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF'),
        (minor, currency) => {
          expect(amountText(minor, currency).replaceAll(',', '')).toBe(formatAmount(minor, currency));
        },
      ),
    );
  });

  test('are never added across currencies', () => {
    const amounts = [
      { amountMinor: 100, currency: 'EUR' },
      { amountMinor: 250, currency: 'EUR' },
      { amountMinor: 7, currency: 'JPY' },
    ];
    expect(sumsText(amounts)).toBe('3.50 EUR + 7 JPY');
  });

  test('counts agree with their nouns', () => {
    expect([counted(1, 'invoice'), counted(4812, 'invoice')]).toEqual(['1 invoice', '4,812 invoices']);
  });
});

describe('times', () => {
  test.each([
    [0, 'now'],
    [-8_000, '8 s ago'],
    [-119_000, '1 min ago'],
    [-7_200_000, '2 h ago'],
    [-3 * 86_400_000, '3 d ago'],
    [20_000, 'in 20 s'],
  ])('%d ms from now is %s', (ms, text) => {
    expect(relativeTime(1e12 + ms, 1e12)).toBe(text);
  });

  test.each([
    [0, '0 s'],
    [59, '59 s'],
    [3_000, '50 min'],
    [12_000, '3 h 20 min'],
    [259_200, '3 d'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});

test('looks come every 5 s while work moves, sooner at its beginning, else every 30 s; failures double 5 s', () => {
  expect([0, 1, 2, 3, 1_000].map((looks) => nextPollMs(true, 0, looks))).toEqual([
    1_000, 2_000, 4_000, 5_000, 5_000,
  ]);
  expect([nextPollMs(true, 0), nextPollMs(false, 0)]).toEqual([5_000, 30_000]);
  expect([1, 2, 3, 4, 9].map((failures) => nextPollMs(true, failures))).toEqual([
    10_000, 20_000, 40_000, 60_000, 60_000,
  ]);
  expect([1, 2, 9].map((failures) => nextPollMs(false, failures))).toEqual([10_000, 20_000, 60_000]);
});

describe('a file to import', () => {
  const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description\n';

  const now = Date.parse('2026-06-01T00:00:00Z');
  const numbered = ({ parts }: SplitFile) => parts.map(({ content, numbers }) => ({ content, numbers }));

  test('is split between rows, never inside quotes; each part has the header, and blank rows count', () => {
    const rows = ['a,"two\nlines, ""quoted"""\n', 'b,x\r\n', '\n', ',,,\n', 'c,y'];
    expect(numbered(splitFile(`\uFEFF${header}${rows.join('')}`, 2, now))).toEqual([
      { content: `${header}${rows[0]}${rows[1]}`, numbers: [2, 3] },
      { content: `${header}${rows[4]}`, numbers: [6] },
    ]);
  });

  test('may be a JSON array', () => {
    expect(numbered(splitFile('[{"id":"a"},{"id":"b"},{"id":"c","error":"id: x"}]', 2, now))).toEqual([
      { content: '[{"id":"a"},{"id":"b"}]', numbers: [1, 2] },
      { content: '[{"id":"c"}]', numbers: [3] },
    ]);
  });

  const contents = (text: string) => splitFile(text, 9, now).parts.map(({ content }) => content);

  test.each([
    ['an amount with decimals', '{"amountMinor":1999.00}'],
    ['an amount with an exponent', '{ "amountMinor" : 19.99e2 }'],
    ['a number beyond what JavaScript keeps', '{"amountMinor":12345678901234567890}'],
    ['a field that is there twice', '{"id":"a","amountMinor":1999,"amountMinor":199900}'],
    ['a name with escapes', String.raw`{"id":"a","\u0069d":"b"}`],
    ['brackets in strings', String.raw`{"id":"]},{[","x\"]":"\\","y":"\\\"],"}`],
    ['values in values', '{"a":[1.0,{"error":[]},[[]]],"b":{"error":{},"c":2e0}}'],
    ['other letters', '{"description":"Müller 漢字 😀","customer":"\\u00fc\\ud83d\\ude00"}'],
    ['an error further in', '[{"error":"x"}]'],
    ['no object', '"a, \\"b\\" ]"'],
    ['a number', '-1.50E+2'],
    ['an empty object', '{ }'],
    ['an empty array', '[ ]'],
  ])('of JSON is sent as it is written: %s', (_, row) => {
    expect(contents(`[${row}]`)).toEqual([`[${row}]`]);
    expect(contents(`\r\n [\t${row} ,\n{"id":"b"},${row}\r\n]\n`)).toEqual([`[${row},{"id":"b"},${row}]`]);
  });

  test.each([
    ['{"error":"x","amountMinor":1999.00}', '{"amountMinor":1999.00}'],
    [
      '{ "amountMinor": 1999.00, "error": "a, }\\"", "id": "a", "id": "b" }',
      '{"amountMinor": 1999.00,"id": "a","id": "b"}',
    ],
    [String.raw`{"a":{"error":1.0},"\u0065rror":{"b":[","]},"error":2}`, '{"a":{"error":1.0}}'],
    ['{"error":null}', '{}'],
  ])('of JSON loses the field "error" and nothing else: %s', (row, sent) => {
    expect(contents(`[${row}, {"id":"b"}]`)).toEqual([`[${sent},{"id":"b"}]`]);
  });

  test.each(['[]', ' [\r\n\t]\n'])('of JSON may have no rows: %j', (text) => {
    expect(splitFile(text, 9, now)).toMatchObject({ rows: 0, parts: [] });
  });

  test('of JSON says what it comes to; an amount that the app refuses as it is written is unclear', () => {
    const common = '"currency":"EUR","dueAt":"2026-01-01T00:00:00Z"';
    const rows = [
      `{"amountMinor":1000,${common}}`,
      `{ "amountMinor" : 250 , "currency": "EUR", "dueAt":"2027-01-01T00:00:00Z", "error": "x" }`,
      String.raw`{"amount\u004dinor":5,${common}}`,
      ...['1999.00', '19.99e2', '1.5', '"1999"', '1,"amountMinor":1'].map(
        (amount) => `{"amountMinor":${amount},${common}}`,
      ),
      '{"amountMinor":1000}',
      '[1000]',
      'null',
    ];
    const { rows: count, amounts, due, unclear } = splitFile(`[${rows.join()}]`, 9, now);
    expect([count, sumsText(amounts), sumsText(due), unclear]).toEqual([11, '12.55 EUR', '10.05 EUR', 8]);
  });

  test('of JSON has the same values, however it is written and split', () => {
    const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });
    const key = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('error', 'amountMinor', '__proto__'));
    const leaf = fc.oneof(
      fc.jsonValue({ maxDepth: 0 }),
      fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', ':') }),
    );
    const { value } = fc.letrec<{ value: string }>((tie) => {
      const items = fc.array(fc.tuple(space, tie('value'), space).map((parts) => parts.join('')));
      const named = fc.tuple(space, key, space, space, tie('value'), space);
      const members = fc.array(
        named.map(([a, name, b, c, of, d]) => `${a}${JSON.stringify(name)}${b}:${c}${of}${d}`),
      );
      return {
        value: fc.oneof(
          { maxDepth: 4, withCrossShrink: true },
          leaf.map((of) => JSON.stringify(of)),
          fc.tuple(items, space).map(([all, empty]) => `[${all.join() || empty}]`),
          fc.tuple(members, space).map(([all, empty]) => `{${all.join() || empty}}`),
        ),
      };
    });
    const withoutError = (item: unknown) => {
      if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
      const { error: _, ...others } = item as { error?: unknown };
      return others;
    };
    fc.assert(
      fc.property(fc.array(fc.tuple(space, value, space)), fc.integer({ min: 1, max: 4 }), (rows, size) => {
        const text = `[${rows.map((row) => row.join('')).join()}]`;
        const { parts } = splitFile(text, size, now);
        const items = parts.flatMap(({ content }) => JSON.parse(content) as unknown[]);
        expect(items).toEqual((JSON.parse(text) as unknown[]).map(withoutError));
        expect(parts.flatMap(({ numbers }) => numbers)).toEqual(rows.map((_, index) => index + 1));
        const sent = parts.map(({ content }) => content.slice(1, -1)).join();
        if (!text.includes('"error"')) expect(sent).toBe(rows.map(([, written]) => written).join());
      }),
      { numRuns: 150 },
    );
  });

  test('of JSON is judged by the app as if it had been sent whole', async () => {
    const good = {
      id: 'a',
      customerId: 'cus_1',
      amountMinor: 1999,
      currency: 'EUR',
      dueAt: '2026-01-31T12:00:00Z',
    };
    const row = JSON.stringify(good);
    const text = `[${[
      row,
      row.replace('1999', '1999.00'),
      row.replace('1999', '19.99e2'),
      row.replace('1999', '1999,"amountMinor":199900'),
      row.replace('1999', '1999,"amount\\u004dinor":199900'),
    ].join(',\n')}]`;
    const whole = await readBody(text, 'application/json');
    expect(whole.rejected.map(({ index, field }) => [index, field])).toEqual(
      [1, 2, 3, 4].map((index) => [index, 'amountMinor']),
    );
    const { parts, type } = splitFile(text, 9, now);
    expect(await readBody(parts[0]?.content ?? '', type)).toEqual(whole);
  });

  test('says what it comes to, and what of it is due', () => {
    const rows = [
      'a,cus,10.00,EUR,2026-01-01T00:00:00Z,,\n',
      'b,cus,5.50,EUR,2027-01-01,,\n',
      'c,cus,300,JPY,2026-05-31,,\n',
      'd,cus,1,5,EUR,2026-05-31,\n',
    ];
    const { amounts, due, unclear, plainDates } = splitFile(header + rows.join(''), 9, now);
    expect([sumsText(amounts), sumsText(due), unclear, plainDates]).toEqual([
      '15.50 EUR + 300 JPY',
      '10.00 EUR + 300 JPY',
      1,
      2,
    ]);
  });

  test('with semicolons and plain dates is sent with commas and midnight UTC', () => {
    const file = 'id;amount;description;dueAt\r\na;"1";x, y;2026-01-31\r\n';
    expect(splitFile(file, 9, now).parts[0]?.content).toBe(
      'id,amount,description,dueAt\r\na,1,"x, y",2026-01-31T00:00:00Z\r\n',
    );
  });

  test('of refused rows has the columns of the original, and can be mended and imported again', () => {
    const rows = ['a,cus,1.999,EUR,2026-01-01T00:00:00Z,,"x, y"\n', 'b,cus,2,EUR,2026-01-01T00:00:00Z,,z\n'];
    const file = splitFile(header + rows.join(''), 9, now);
    const row = ['a', 'cus', '1.999', 'EUR', '2026-01-01T00:00:00Z', '', 'x, y'];
    const refused = refusedFile(file, [{ index: 2, field: 'amount', error: '"1.999"', row }]);
    expect(idIn(file, { row })).toBe('a');
    expect(refused).toBe(
      `\uFEFF${header.trim()},error\r\na,cus,1.999,EUR,2026-01-01T00:00:00Z,,"x, y","amount: ""1.999"""\r\n`,
    );
    expect(splitFile(refused.replace('1.999', '1.99'), 9, now).parts[0]?.content).toBe(
      `${header.trim()}\r\na,cus,1.99,EUR,2026-01-01T00:00:00Z,,"x, y"\r\n`,
    );
  });

  test('in another encoding is not read as UTF-8, and a workbook is named as one', () => {
    const windows = Buffer.from('id,description\n1,Müller', 'latin1');
    const read = fileText(windows);
    expect(read).toEqual({ kind: 'notUtf8', asWindows: 'id,description\n1,Müller' });
    expect(read.kind === 'notUtf8' && tellingWords(read.asWindows)).toBe('Müller');
    expect(fileText(Buffer.from('Müller'))).toEqual({ kind: 'text', text: 'Müller' });
    expect(() => fileText(Buffer.from('PK\u0003\u0004'))).toThrow('Excel workbook');
  });

  test.each([
    ['', 'The file is empty.'],
    ['{"id": "a"}', 'The file is JSON, but not an array of invoices.'],
    ['[{', 'The file is not JSON'],
    ['[{"id":"a"},]', 'The file is not JSON'],
    ['[{"id":"a"}] x', 'The file is not JSON'],
    ['\uFEFF[]', 'The file is not JSON'],
    ['\u00A0[]', 'The file is not JSON'],
  ])('%j is refused in plain words', (text, why) => {
    expect(() => splitFile(text, 10, now)).toThrow(why);
  });

  test('loses no row, however it is split', () => {
    const cell = fc.string().map((text) => `"${text.replaceAll('"', '""')}"`);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell), { minLength: 1 }),
        fc.integer({ min: 1, max: 5 }),
        (cells, size) => {
          const rows = cells.map((row) => `${row.join(',')}\n`);
          const { parts } = splitFile(header + rows.join(''), size, now);
          expect(parts.map(({ content }) => content.slice(header.length)).join('')).toBe(rows.join(''));
        },
      ),
    );
  });
});

describe('days by their name', () => {
  test.each([
    ['today', '2026-12-31', '2026-12-31', '2027-01-01'],
    ['this week', '2026-12-31', '2026-12-28', '2027-01-04'],
    ['this week', '2026-11-29', '2026-11-23', '2026-11-30'],
    ['this month', '2026-12-31', '2026-12-01', '2027-01-01'],
    ['last month', '2026-01-15', '2025-12-01', '2026-01-01'],
  ] as const)('%s on %s', (name, today, from, before) => {
    expect(periodOf(name, today)).toEqual({ from, before });
  });

  test('are found by their ends', () => {
    expect(periodName({ from: '2026-11-01', before: '2026-12-01' }, '2026-11-25')).toBe('this month');
    expect(periodName({ from: '2026-11-02', before: '2026-12-01' }, '2026-11-25')).toBeUndefined();
  });
});

describe('what has gone back', () => {
  const at = '2026-11-25T12:00:00.000Z';
  const paid = { amountMinor: 2_000, currency: 'EUR' };

  test('is a sentence each: a dispute with its date for evidence, and how much was refunded', () => {
    const reversals = {
      refunds: [{ id: 'r', amountMinor: 1_000, status: 'succeeded', at }],
      disputes: [
        {
          id: 'd',
          amountMinor: 500,
          status: 'open',
          at,
          reason: 'product_not_received',
          evidenceDueAt: '2026-12-03T23:00:00.000Z',
        },
      ],
      refundedMinor: 1_000,
      disputedMinor: 500,
    };
    expect(reversalTexts({ ...paid, reversals })).toEqual([
      'Disputed over 5.00 EUR (product not received), evidence due 3 Dec 2026.',
      'Refunded 10.00 of 20.00.',
    ]);
    expect(reversalTexts({ ...paid, reversals: null })).toEqual([]);
  });
});

describe('a bulk change', () => {
  const request = {
    action: 'retry',
    filter: { status: 'declined', currency: 'EUR' },
    reason: 'new cards',
    actor: 'Ada',
    cap: 132,
  };

  test('is told with its filter and how far it is', () => {
    const counts = { retried: 30, namesPayment: 2, 'amountMinor.EUR': 500 };
    expect(bulkText({ request, counts })).toEqual({
      title: 'Retry of declined invoices',
      filter: 'currency: EUR',
      reason: 'new cards',
      actor: 'Ada',
      changed: 30,
      notChanged: 2,
      planned: 132,
    });
  });

  test('is none if the run was not asked for one', () => {
    expect(bulkText({ request: null, counts: { claimed: 3 } })).toBeUndefined();
  });
});
