import { describe, expect, it } from 'vitest';
import { BadQuery, queryPlan, UnsupportedQuery } from '../../../src/cosmos/query/index.ts';
import { tableOfItems } from './tableOfItems.ts';

const { all } = tableOfItems([]);

function refusalOf(query: string): unknown {
  try {
    all(query);
  } catch (refusal) {
    return refusal;
  }
  throw new Error(`${query} succeeded; expected a refusal`);
}

describe('an invalid query', () => {
  it.each([
    ['SELECT * FORM c', 'SC1001', "Syntax error, incorrect syntax near 'FORM'.", 9, 13],
    ['SELECT * FROM c WHERE c.x = ', 'SC1001', 'Syntax error, unexpected end of query.', 28, 28],
    ['SELECT c.x, FROM c', 'SC1001', "Syntax error, incorrect syntax near 'FROM'.", 12, 16],
    ['SELECT * FROM c WHERE c.x = #', 'SC1010', "Syntax error, invalid token near '#'.", 28, 29],
    ['SELECT * FROM c WHERE d.x = 1', 'SC2001', "Identifier 'd' could not be resolved.", 22, 23],
    ['SELECT FOO(c.x) FROM c', 'SC2005', "'FOO' is not a recognized built-in function name.", 7, 10],
    ['SELECT ABS() FROM c', 'SC2050', 'The ABS function requires 1 argument(s).', 7, 10],
    [
      'SELECT * FROM c WHERE c.x = @none',
      'SC2061',
      "The query parameter '@none' has not been supplied.",
      28,
      33,
    ],
  ])('%s gets the place of the error', (query, code, message, start, end) => {
    const refusal = refusalOf(query);

    expect(refusal).toBeInstanceOf(BadQuery);
    expect(JSON.parse((refusal as BadQuery).message)).toEqual({
      errors: [{ severity: 'Error', location: { start, end }, code, message }],
    });
  });

  it('gets the name of a property that is neither a grouping key nor aggregated', () => {
    const { message } = refusalOf('SELECT c.a.b, COUNT(1) AS n FROM c GROUP BY c.a') as Error;
    expect(message).toContain("Property reference 'c.a.b' is invalid");
    expect(message).toContain('"location":{"start":7,"end":12}');
  });

  it.each([
    'SELECT * FROM c JOIN t IN c.tags',
    'SELECT *',
    'SELECT c.a.x, c.b.x FROM c',
    'SELECT c.x, COUNT(1) FROM c',
    'SELECT * FROM c WHERE COUNT(1) > 1',
    'SELECT * FROM c ORDER BY c.x + 1',
    'SELECT * FROM c JOIN t IN c.tags ORDER BY t',
    'SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x ORDER BY c.x',
    'SELECT TOP 1 c.x FROM c OFFSET 0 LIMIT 1',
    'SELECT TOP -1 * FROM c',
    'SELECT TOP 1.5 * FROM c',
    "SELECT 'a\\q'",
    'SELECT c.x FROM c JOIN c IN c.x',
    'SELECT * FROM c WHERE c.x IN ()',
    'DELETE FROM c',
    'SELECT VALUE 1e999',
    `SELECT VALUE ${'('.repeat(5000)}1${')'.repeat(5000)}`,
    `SELECT * FROM c WHERE ${Array.from({ length: 2000 }, (_, n) => `c.n = ${n}`).join(' OR ')}`,
    '',
  ])('%.60s is refused', (query) => {
    expect(refusalOf(query)).toBeInstanceOf(BadQuery);
  });
});

it.each([
  ['SELECT udf.tax(c.x) FROM c', 'user-defined functions (udf.*)'],
  ['SELECT * FROM c WHERE ST_DISTANCE(c.a, c.b) < 1', 'the function ST_DISTANCE'],
  ['SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1])', 'the function VECTORDISTANCE'],
  ['SELECT TOP 5 c.id FROM c ORDER BY RANK FullTextScore(c.t, "a")', 'ORDER BY RANK'],
  ['SELECT VALUE COUNT(1) FROM c ORDER BY c.n', 'ORDER BY together with aggregates'],
  ['SELECT MakeList(c.n) FROM c', 'the function MAKELIST'],
  ['SELECT MakeSet(c.n) FROM c', 'the function MAKESET'],
  ['SELECT c.x, MakeList(c.n) AS all FROM c GROUP BY c.x', 'the function MAKELIST'],
  ['SELECT DISTINCT COUNT(1) FROM c', 'DISTINCT together with aggregates or GROUP BY'],
  ['SELECT VALUE (SELECT VALUE t FROM t IN c.tags) FROM c', 'a scalar subquery'],
  ['SELECT c[c.key] FROM c', 'a computed property name'],
])('%s is refused with the name of the unsupported feature', (query, feature) => {
  const refusal = refusalOf(query);

  expect(refusal).toBeInstanceOf(UnsupportedQuery);
  expect((refusal as UnsupportedQuery).feature).toContain(feature);
});

it('keywords and function names match in any case, comments are skipped, strings are unescaped', () => {
  expect(all('select value upper("a\\u0062\\n\\"\'") || \'\\\'"\' -- a comment')).toEqual(['AB\n"\'\'"']);
});

it.each([
  ['1 + 2 * 3 - 4 / 2', 5],
  ['(1 + 2) * 3', 9],
  ['1 + 1 = 2 AND NOT false OR false', true],
  ["'a' || 'b' = 'ab'", true],
  ['6 & 3 | 8', 10],
  ['1 << 3 >> 1', 4],
  ['-5 % 3', -2],
  ['5 / 2', 2.5],
  ['~5', -6],
  ['-1 >>> 28', 15],
  ['5 ^ 1', 4],
  ['1 < 2 ? "yes" : "no"', 'yes'],
  ['undefined ?? null ?? 1', null],
  ['1 / 0', undefined],
  ["'a' + 1", undefined],
  ['0x1F', 31],
  ['.5e1', 5],
  ['[1, undefined, [2]]', [1, [2]]],
  ['{a: undefined, "b c": [true]}', { 'b c': [true] }],
  ['3 NOT BETWEEN 1 AND 2', true],
  ['3 NOT IN (1, 2)', true],
  ["'abc' NOT LIKE 'a%'", false],
])('%s is %j', (expression, value) => {
  expect(all(`SELECT VALUE ${expression}`)[0]).toEqual(value);
});

it('a query plan leaves the SDK no work, and an invalid query has no plan', () => {
  const plan = queryPlan({ query: 'SELECT DISTINCT c.x FROM c ORDER BY c.x' });

  expect(plan).toMatchObject({
    queryInfo: { distinctType: 'None', orderBy: [], aggregates: [], rewrittenQuery: '' },
    queryRanges: [{ min: '', max: 'FF' }],
  });
  expect(() => queryPlan({ query: 'SELEC 1' })).toThrow(BadQuery);
});
