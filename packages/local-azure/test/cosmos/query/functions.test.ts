import { describe, expect, it } from 'vitest';
import { tableOfItems, valueOfExpression } from './tableOfItems.ts';

/** Values from the reference pages of the functions. */
const cases = (table: [expression: string, value: unknown][]) =>
  it.each(table)('%s is %j', (expression, value) => {
    expect(valueOfExpression(expression)).toEqual(value);
  });

describe('text', () => {
  cases([
    ["CONTAINS('Abc', 'b')", true],
    ["CONTAINS('Abc', 'B')", false],
    ["CONTAINS('Abc', 'B', true)", true],
    ["CONTAINS('Abc', 5)", undefined],
    ["STARTSWITH('Abc', 'ab', true)", true],
    ["STARTSWITH('Abc', 'ab')", false],
    ["ENDSWITH('Abc', 'BC', true)", true],
    ["StringEquals('Ä', 'ä', true)", true],
    ["LOWER('ÄB')", 'äb'],
    ["UPPER('äb')", 'ÄB'],
    ["LENGTH('häh')", 3],
    ["SUBSTRING('abcdef', 1, 2)", 'bc'],
    ["SUBSTRING('abc', 2, 99)", 'c'],
    ["CONCAT('a', 'b', 'c')", 'abc'],
    ["CONCAT('a', 1)", undefined],
    ["INDEX_OF('abcb', 'b')", 1],
    ["INDEX_OF('abcb', 'b', 2)", 3],
    ["INDEX_OF('abc', 'z')", -1],
    ["REPLACE('aXbX', 'X', '$&')", 'a$&b$&'],
    ["REPLICATE('ab', 3)", 'ababab'],
    ["REVERSE('ab😀')", '😀ba'],
    ["TRIM('  a ')", 'a'],
    ["LTRIM('xxa', 'x')", 'a'],
    ["RTRIM('a  ')", 'a'],
    ["LEFT('abc', 2)", 'ab'],
    ["RIGHT('abc', 2)", 'bc'],
    ["RIGHT('abc', 0)", ''],
    ["RegexMatch('abcd', 'B.D', 'i')", true],
    ["RegexMatch('abcd', '^b')", false],
    ["RegexMatch('abcd', '(')", undefined],
    ["StringSplit('a,b', ',')", ['a', 'b']],
    ["StringJoin(['a', 'b'], '-')", 'a-b'],
    ["'abc' LIKE 'a_c'", true],
    ["'ABC' LIKE 'a_c'", false],
    ["'50%' LIKE '50!%' ESCAPE '!'", true],
    ["'50x' LIKE '50!%' ESCAPE '!'", false],
    ["'b' LIKE '[a-c]'", true],
    ["'b' LIKE '[^a-c]'", false],
    ["'a.c' LIKE 'a.c'", true],
    ["'abc' LIKE 'a.c'", false],
    ["'a\nb' LIKE 'a%'", true],
  ]);
});

describe('numbers', () => {
  cases([
    ['ABS(-1.5)', 1.5],
    ['CEILING(1.2)', 2],
    ['FLOOR(-1.2)', -2],
    ['ROUND(2.5)', 3],
    ['ROUND(-2.5)', -3],
    ['ROUND(1.005, 2)', 1.01],
    ['TRUNC(-1.7)', -1],
    ['SIGN(-3)', -1],
    ['SQRT(9)', 3],
    ['SQRT(-1)', undefined],
    ['SQUARE(3)', 9],
    ['POWER(2, 10)', 1024],
    ['EXP(0)', 1],
    ['LOG(8, 2)', 3],
    ['LOG10(1000)', 3],
    ['PI()', Math.PI],
    ['DEGREES(PI())', 180],
    ['ATN2(1, 1)', Math.PI / 4],
    ['IntDiv(7, 2)', 3],
    ['IntMod(-7, 2)', -1],
    ['IntAdd(1.5, 2)', undefined],
    ["ABS('1')", undefined],
    ['0.1 + 0.2', 0.30000000000000004],
    ['9007199254740991 + 0', 9007199254740991],
  ]);
});

describe('dates', () => {
  cases([
    ['GetCurrentTimestamp()', 1_800_000_000_000],
    ['GetCurrentDateTime()', '2027-01-15T08:00:00.0000000Z'],
    ['GetCurrentTicks()', 639355968000000000],
    ["DateTimeToTimestamp('2020-07-09T00:00:00.0000000Z')", 1594252800000],
    ['TimestampToDateTime(1594227912345)', '2020-07-08T17:05:12.3450000Z'],
    ["DateTimeToTimestamp('9 July')", undefined],
    ["DateTimeAdd('mm', 1, '2024-01-31T10:00:00Z')", '2024-02-29T10:00:00.0000000Z'],
    ["DateTimeAdd('yyyy', -4, '2024-02-29T00:00:00Z')", '2020-02-29T00:00:00.0000000Z'],
    ["DateTimeAdd('hh', -1, '2020-07-03T00:00:00.0000001Z')", '2020-07-02T23:00:00.0000001Z'],
    ["DateTimeAdd('ns', 100, '2020-07-03T00:00:00.0000000Z')", '2020-07-03T00:00:00.0000001Z'],
    ["DateTimeAdd('x', 1, '2020-07-03T00:00:00Z')", undefined],
    ["DateTimeDiff('year', '2028-01-01T01:02:03.1234527Z', '2020-01-03T01:02:03.1234567Z')", -8],
    ["DateTimeDiff('month', '2020-01-31T00:00:00Z', '2020-02-01T00:00:00Z')", 1],
    ["DateTimeDiff('hour', '2020-01-03T00:59:59Z', '2020-01-03T01:00:00Z')", 1],
    ["DateTimePart('ms', '2016-05-29T08:30:00.1301617Z')", 130],
    ["DateTimePart('ns', '2016-05-29T08:30:00.1301617Z')", 130161700],
    ["DateTimePart('day', '2016-05-29T08:30:00.1301617Z')", 29],
    ['DateTimeFromParts(2020, 9, 4)', '2020-09-04T00:00:00.0000000Z'],
    ['DateTimeFromParts(2020, 2, 30)', undefined],
    ["TicksToDateTime(DateTimeToTicks('2020-01-02T00:00:00Z'))", '2020-01-02T00:00:00.0000000Z'],
  ]);
});

describe('arrays', () => {
  cases([
    ['ARRAY_LENGTH([1, 2])', 2],
    ['ARRAY_LENGTH("ab")', undefined],
    ['ARRAY_CONTAINS([1, "1"], "1")', true],
    ['ARRAY_CONTAINS([1], "1")', false],
    ['ARRAY_CONTAINS([true], 1)', false],
    ['ARRAY_CONTAINS([null], null)', true],
    ['ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1})', false],
    ['ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1}, true)', true],
    ['ARRAY_CONTAINS([{a: 1, b: 2}], {b: 2, a: 1})', true],
    ['ARRAY_CONTAINS("ab", "a")', undefined],
    ['ARRAY_SLICE([1, 2, 3], 1)', [2, 3]],
    ['ARRAY_SLICE([1, 2, 3], -2, 1)', [2]],
    ['ARRAY_SLICE([1, 2, 3], 0, -1)', []],
    ['ARRAY_CONCAT([1], ["a"], [[2]])', [1, 'a', [2]]],
    ['ARRAY_CONTAINS_ANY([1, 2], 3, 2)', true],
    ['ARRAY_CONTAINS_ALL([1, 2], 3, 2)', false],
    ['SetUnion([1, 2], [2, 3])', [1, 2, 3]],
    ['SetIntersect([1, 2], [2, 3])', [2]],
    ['ObjectToArray({a: 1}, "name", "value")', [{ name: 'a', value: 1 }]],
  ]);
});

describe('types', () => {
  cases([
    ['IS_DEFINED(undefined)', false],
    ['IS_DEFINED(null)', true],
    ['IS_NULL(null)', true],
    ['IS_PRIMITIVE("a")', true],
    ['IS_PRIMITIVE([])', false],
    ['IS_OBJECT({})', true],
    ['IS_ARRAY([])', true],
    ['IS_BOOL(false)', true],
    ['IS_NUMBER(1.5)', true],
    ['IS_INTEGER(1.5)', false],
    ['IS_INTEGER(2)', true],
    ['ToString(1)', '1'],
    ['ToString(1.50)', '1.5'],
    ['ToString(true)', 'true'],
    ['ToString([1, "a"])', '[1,"a"]'],
    ['ToString(undefined)', undefined],
    ['StringToNumber(" 1.5 ")', 1.5],
    ['StringToNumber("1x")', undefined],
    ['StringToBoolean("true")', true],
    ['StringToNull("null")', null],
    ['StringToArray("[1]")', [1]],
    ['StringToArray("{}")', undefined],
    ['StringToObject("{\\"a\\":1}").a', 1],
    ['IIF(1 < 2, "a", 1)', 'a'],
    ['IIF("x", "a", 1)', 1],
  ]);
});

it('functions accept item values as well as constants', () => {
  const { all } = tableOfItems([
    { name: 'Alpha', tags: ['a', 'b'], big: 1e17, at: '2024-01-01T00:00:00Z' },
    { name: 5, tags: 'a', big: 'x' },
  ]);

  expect(all('SELECT VALUE c.id FROM c WHERE CONTAINS(c.name, "lph")')).toEqual(['i1']);
  expect(all('SELECT VALUE ARRAY_CONTAINS(c.tags, "b") FROM c')).toEqual([true]);
  expect(all('SELECT VALUE FLOOR(c.big) FROM c ORDER BY c.big')).toEqual([1e17]);
  expect(all('SELECT VALUE DateTimePart("yyyy", c.at) FROM c')).toEqual([2024]);
  expect(all('SELECT VALUE ToString(c.name) FROM c')).toEqual(['Alpha', '5']);
});
