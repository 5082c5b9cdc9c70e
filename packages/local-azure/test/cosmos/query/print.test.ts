import { expect, test } from 'vitest';
import { parse } from '../../../src/cosmos/query/parse/query.ts';
import { printQuery } from '../../../src/cosmos/query/print.ts';

/** A query without the places of its parts in the text. */
function meaning(text: string): unknown {
  return JSON.parse(JSON.stringify(parse(text), (key, value: unknown) => (key === 'at' ? undefined : value)));
}

test.each([
  'SELECT * FROM c',
  'SELECT TOP 5 c.a, c["b c"] AS d, c[0].e FROM root AS c',
  'SELECT DISTINCT VALUE [c.a, {"x": -1.5e-7, y: null}] FROM c',
  `SELECT VALUE {"it's": "a \\"quote\\"", "u": "\\u00e9\\n"} FROM c WHERE c.name LIKE "x!%%" ESCAPE "!"`,
  'SELECT c.a FROM c JOIN t IN c.tags JOIN (SELECT VALUE u FROM u IN t.of) AS u WHERE t.x = u',
  'SELECT * FROM c WHERE NOT (c.a = 1 OR c.b < @b) AND c.d NOT IN (1, "two", false) AND c.e BETWEEN 1 AND 2 + 3',
  'SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = "x") AND ARRAY_LENGTH(ARRAY(SELECT 1)) > 0',
  'SELECT c.a ?? c.b ?? "none", c.a ? 1 : c.b ? 2 : 3, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS n FROM c',
  'SELECT -c.a - -1, +c.a * (2 + 3) % 4, ~c.a >>> 2 & 3 | 4 ^ 5, c.a || "x" FROM c',
  'SELECT c.kind, COUNT(1) AS n FROM c WHERE c.x = undefined GROUP BY c.kind, LOWER(c.y)',
  'SELECT * FROM c ORDER BY c.a DESC, c.b OFFSET 3 LIMIT @limit',
  'SELECT 1',
])('%s', (query) => {
  expect(meaning(printQuery(parse(query)))).toEqual(meaning(query));
});
