import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CsvRecord, csvRecords } from '../../src/intake/csvRecords.ts';

function recordsOf(parts: readonly string[], maxBytes = 1_000): CsvRecord[] {
  const records = csvRecords(maxBytes);
  return [...parts.flatMap((part) => [...records.push(part)]), ...records.end()];
}

/** The text cut at these places. */
function cut(text: string, places: readonly number[]): string[] {
  const at = [0, ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return at.slice(1).map((end, n) => text.slice(at[n], end));
}

const anything = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', 'b'), maxLength: 60 });
const places = fc.array(fc.nat({ max: 10_000 }), { maxLength: 20 });

test('it makes no difference how a text is cut into parts', () => {
  fc.assert(
    fc.property(anything, places, fc.integer({ min: 1, max: 20 }), (text, at, maxBytes) => {
      const whole = recordsOf([text], maxBytes);
      const inParts = recordsOf(cut(text, at), maxBytes);
      // Lines are counted as they end, so a CRLF that is cut may count twice in a record that is too long.
      const withoutLines = (records: CsvRecord[]) => records.map((record) => ({ ...record, line: 0 }));
      expect(withoutLines(inParts)).toEqual(withoutLines(whole));
    }),
    { numRuns: 5_000 },
  );
});

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
      expect(recordsOf([text]).map((record) => ('cells' in record ? record.cells : record))).toEqual(
        expected,
      );
    }),
    { numRuns: 2_000 },
  );
});

test('each record has the number of its first line', () => {
  const lines = ['a,b', '', '"c\r\nd",e', 'f"', '"g\n"h', 'i,j'];
  for (const end of ['\n', '\r\n', '\r']) {
    const text = lines.map((line) => line.replaceAll('\r\n', end)).join(end);
    expect(recordsOf([text]).map(({ line }) => line)).toEqual([1, 3, 5, 6, 8]);
  }
});

test('a record that is too long is dropped as it comes, and the next one is read', () => {
  const long = `a,"${'x""\n'.repeat(5_000)}",${'y'.repeat(5_000)}`;
  const found = recordsOf(
    cut(
      `1,2\n${long}\n3,4\n`,
      Array.from({ length: 200 }, (_, n) => n * 137),
    ),
  );
  expect(found.map((record) => ('cells' in record ? record.cells : record.unreadable))).toEqual([
    ['1', '2'],
    'expected a row of at most 1000 bytes',
    ['3', '4'],
  ]);
});
