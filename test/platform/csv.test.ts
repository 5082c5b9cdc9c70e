import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvLine, fromCsvCell } from '../../src/platform/csv.ts';

test.each([
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  [' padded ', '" padded "'],
  ['größe', 'größe'],
  ["o'clock", "o'clock"],
  ['1-1', '1-1'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t'=1"],
  ['\r=1', `"'\r'=1"`],
  ['\n=1', `"'\n'=1"`],
  ["x;=cmd|'/C calc'!A0", "x;'=cmd|'/C calc'!A0"],
  ['x\n=1', `"x\n'=1"`],
  ['a;b', 'a;b'],
  ["a;'=1", "a;''=1"],
  ['＝1', "'＝1"],
  ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`],
  ["'=1", "''=1"],
  ["'quoted'", "'quoted'"],
])('%j is written as %j', (cell, written) => {
  expect(csvLine([cell])).toBe(`${written}\r\n`);
});

test('numbers are written as they are', () => {
  expect(csvLine([-1, 12345678901234567890n, 0])).toBe('-1,12345678901234567890,0\r\n');
});

const cell = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom("'", '=', '-', '"', ',', '\r', '\n', '\t', ';', ' ', 'a', '＋') }),
);

test('whatever is written reads back the same, and no cell begins a formula, where cells end at semicolons neither', () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 2, maxLength: 4 }), (cells) => {
      const rows: string[][] = parse(csvLine(cells));
      expect(rows).toHaveLength(1);
      const [row = []] = rows;
      for (const written of row) expect(written).not.toMatch(/(^|[;\t\r\n])[=+\-@＝＋－＠]/);
      expect(row.map(fromCsvCell)).toEqual(cells);
    }),
  );
});
