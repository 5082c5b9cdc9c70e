import { describe, expect, test } from 'vitest';
import { FilterError, type MessageView } from '../../src/serviceBus/filters/messageView.ts';
import { compileSql, parseChanges } from '../../src/serviceBus/filters/sqlFilter.ts';

const properties: Record<string, string | number | boolean> = {
  color: 'red',
  quantity: 10,
  urgent: true,
  'a b': 'spaced',
  path: '50%_off',
};
const message: MessageView = {
  system: (field) => (field === 'subject' ? 'order' : undefined),
  application: (name) => properties[name.toLowerCase()],
};

describe('SQL filters, with the properties color, quantity, urgent, [a b], path', () => {
  test.each([
    ['1=1', true],
    ['1=0', false],
    ["color = 'red'", true],
    ["COLOR = 'red' and Quantity > 9", true],
    ["user.color = 'red'", true],
    ["sys.Label = 'order'", true],
    ["sys.Subject <> 'order'", false],
    ["color = 'it''s'", false],
    ["[a b] = 'spaced'", true],
    ['"a b" = \'spaced\'', true],
    ['quantity = 5 * 2', true],
    ['quantity + 2 * 3 = 16', true],
    ['(quantity + 2) * 3 = 36', true],
    ['quantity % 3 = 1 AND quantity / 4 = 2.5', true],
    ['-quantity < 0', true],
    ['quantity >= 10 AND quantity <= 10 AND quantity != 11', true],
    ['urgent = TRUE', true],
    ['urgent', true],
    ["color IN ('blue', 'red')", true],
    ["color NOT IN ('blue')", true],
    ["color LIKE 'r%' AND color LIKE '_ed'", true],
    ["color NOT LIKE '%x%'", true],
    ["path LIKE '50!%!_off' ESCAPE '!'", true],
    ["color LIKE '50!%!_off' ESCAPE '!'", false],
    ['missing IS NULL AND color IS NOT NULL', true],
    ['EXISTS(color) AND NOT EXISTS(missing)', true],
    ['quantity > @least', true],
    // A comparison with nothing is unknown, and so is its opposite.
    ["missing = 'x'", false],
    ["NOT missing = 'x'", false],
    ["missing = 'x' OR color = 'red'", true],
    ["missing = 'x' AND 1=0 OR 1=1", true],
    ["quantity = '10'", false],
    ["quantity < 'a'", false],
  ])('%s: %s', (sql, expected) => {
    expect(compileSql(sql, { '@least': 5 })(message)).toBe(expected);
  });

  test.each([
    ['color =', 'wrong at the end'],
    ["color = 'red' blue", 'wrong at blue'],
    ["color = 'red", 'cannot be read at "\'red"'],
    ['newid() = 1', 'function newid is not supported'],
    ['other.color = 1', 'no SQL scope other'],
    ['sys.EnqueuedTimeUtc > 1', 'system property EnqueuedTimeUtc is not supported'],
    ['quantity > @most', 'parameter @most has no value'],
  ])('%s is refused: %s', (sql, reason) => {
    expect(() => compileSql(sql)).toThrow(FilterError);
    expect(() => compileSql(sql)).toThrow(reason);
  });
});

test.each([
  ['SET a', 'wrong at the end'],
  ["SET a = 'x' b = 1", 'wrong at b'],
  ['a = 1', 'wrong at a'],
  ['SET a = newid()', 'function newid is not supported'],
  ['SET sys.EnqueuedTimeUtc = 1', 'system property EnqueuedTimeUtc is not supported'],
])('the action %s is refused: %s', (sql, reason) => {
  expect(() => parseChanges(sql)).toThrow(FilterError);
  expect(() => parseChanges(sql)).toThrow(reason);
});
