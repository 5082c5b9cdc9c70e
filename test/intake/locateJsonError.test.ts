import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { locateJsonError } from '../../src/intake/locateJsonError.ts';

const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('locateJsonError', () => {
  test.each([
    ['', 1, 1, 'a value', 'the end'],
    ['[1,\n 2,]', 2, 4, 'a value', '"]"'],
    ['[1 2]', 1, 4, 'a comma', '"2"'],
    ['[{"a" 1}]', 1, 7, 'a colon', '"1"'],
    ["[{'a': 1}]", 1, 3, 'a name in double quotes or }', '"\'"'],
    ['[{"a": 1,}]', 1, 10, 'a name in double quotes', '"}"'],
    ['[01]', 1, 3, 'a comma', '"1"'],
    ['[1', 1, 3, 'a comma', 'the end'],
    ['["a\nb"]', 1, 2, 'a value', '"\\""'],
    ['[]x', 1, 3, 'the end of the text', '"x"'],
    ['[😀]', 1, 2, 'a value', '"😀"'],
    ['[1}', 1, 3, 'a comma', '"}"'],
  ])('%j breaks at line %i, column %i', (text, line, column, expected, found) => {
    expect(locateJsonError(text)).toEqual({
      line,
      column,
      expected: expect.stringContaining(expected),
      found,
    });
  });

  test('finds no error in valid JSON', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(locateJsonError(text)).toBeUndefined();
      }),
    );
  });

  test('agrees with JSON.parse on what is JSON', () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', ',', ']', '}', '[', '{', ':', '0', '-', '.', 'e', '\\', 'tru'),
      )
      .map(
        ([text, at, piece]) => text.slice(0, at % text.length) + piece + text.slice((at % text.length) + 1),
      );
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string()), (text) => {
        expect(locateJsonError(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 500 },
    );
  });

  test('handles deep nesting and long text', () => {
    expect(locateJsonError('['.repeat(200_000))).toMatchObject({ column: 200_001 });
    expect(locateJsonError(`["${'x'.repeat(5_000_000)}"`)).toMatchObject({ found: 'the end' });
  });
});
