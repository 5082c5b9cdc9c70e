import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonRows } from '../../src/importing/jsonRows.ts';
import type { FoundRow } from '../../src/importing/readRows.ts';

function rowsOf(text: string, limits = { rowBytes: 10_000, nesting: 50 }): Exclude<FoundRow, undefined>[] {
  return [...jsonRows(Buffer.from(text), limits)].filter((row) => row !== undefined);
}

const indents = fc.constantFrom(undefined, 1, '\t');

test('an array of any values has a row for each of them', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), indents, (values, indent) => {
      const found = rowsOf(JSON.stringify(values, undefined, indent));
      expect(found.map(({ kind }) => kind)).toEqual(values.map(() => 'bad'));
    }),
    { numRuns: 500 },
  );
});

test('where an array stops to be JSON is named by row, line and byte, whatever is before', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), indents, (values, indent) => {
      const whole = JSON.stringify(values, undefined, indent);
      const before = `\n ${whole.slice(0, whole.lastIndexOf(']')).trimEnd()},\n`;
      const last = rowsOf(`${before}{x}]`).at(-1);
      const place = `row ${values.length}, line ${before.split('\n').length}, position ${Buffer.byteLength(before) + 1}:`;
      expect(last).toMatchObject({ problem: { detail: expect.stringContaining(place) } });
    }),
  );
});

test('an element that is too long or too deep costs one row', () => {
  const limits = { rowBytes: 20, nesting: 3 };
  const found = rowsOf(`[1,"${'x'.repeat(50)}",[[[[2]]]],[[[3]]],4]`, limits);
  expect(found.map((row) => (row.kind === 'bad' ? row.error : row))).toEqual([
    'expected an object, not 1',
    'expected a row of at most 20 bytes',
    'expected at most 3 levels of nesting',
    'expected an object, not an array',
    'expected an object, not 4',
  ]);
});
