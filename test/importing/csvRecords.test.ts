import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CsvRecord, csvRecords } from '../../src/importing/csvRows.ts';

function recordsOf(text: string, maxBytes = 1_000): CsvRecord[] {
  return [...csvRecords(Buffer.from(text, 'latin1'), maxBytes)].filter((record) => record !== undefined);
}

test('what is CSV is read as csv-parse reads it', () => {
  const cell = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', '\r\n', 'a', ' '), maxLength: 8 });
  const records = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(records, fc.constantFrom('\n', '\r\n', '\r'), fc.boolean(), (rows, lineEnd, everyCell) => {
      const quoted = (text: string) =>
        everyCell || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      const text = rows.map((cells) => cells.map(quoted).join(',')).join(lineEnd);
      const expected = parse(text, {
        record_delimiter: [lineEnd],
        relax_column_count: true,
        skip_empty_lines: true,
      });
      expect(recordsOf(text).map((record) => ('cells' in record ? record.cells : record))).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('each record has the number of its first line', () => {
  const lines = ['a,b', '', '"c\r\nd",e', 'f"', '"g\n"h', 'i,j'];
  for (const end of ['\n', '\r\n', '\r']) {
    const text = lines.map((line) => line.replaceAll('\r\n', end)).join(end);
    expect(recordsOf(text).map(({ line }) => line)).toEqual([1, 3, 5, 6, 8]);
  }
});

test('a record that is too long is passed over, and the next one is read', () => {
  const long = `a,"${'x""\n'.repeat(5_000)}",${'y'.repeat(5_000)}`;
  const found = recordsOf(`1,2\n${long}\n3,4\n`);
  expect(found).toEqual([
    { line: 1, cells: ['1', '2'] },
    { line: 2, unreadable: 'expected a row of at most 1000 bytes' },
    { line: 5_003, cells: ['3', '4'] },
  ]);
});
