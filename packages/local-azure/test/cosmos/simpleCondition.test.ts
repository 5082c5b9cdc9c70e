import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/cosmos/json.ts';
import { createQueryCheck } from '../../src/cosmos/patchCondition.ts';
import { createSimpleConditions, simpleCondition } from '../../src/cosmos/simpleCondition.ts';

const byQuery = createQueryCheck();

/** Neighbours of every edge that SQLite and JavaScript could see differently. */
const numbers = [
  0,
  -0,
  1,
  -1,
  2,
  1.5,
  0.1,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  2 ** 53,
  2 ** 60,
  2 ** 63,
  1e21,
  1e300,
];
const texts = [
  '',
  'a',
  'A',
  'é',
  'é',
  '1',
  `it's "quoted"`,
  'a\0b',
  '\0',
  '\ud800',
  '\ufffd',
  '😀',
  '\\',
  '\n',
];
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<JsonValue>(...numbers) },
  { weight: 4, arbitrary: fc.constantFrom<JsonValue>(...texts) },
  { weight: 1, arbitrary: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 2, arbitrary: fc.constantFrom<JsonValue>(null, true, false, [], ['a'], {}, { a: 'a' }) },
);
const oddNames = ['B', 'a_1', '__proto__', 'constructor', '_ts', 'length', '0', 'a.b', '"', 'é'];
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b') },
  { weight: 1, arbitrary: fc.constantFrom(...oddNames) },
);
const item: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(name, fc.oneof(value, fc.array(value), fc.dictionary(name, value))))
  .map((entries): JsonObject => Object.fromEntries(entries));

const step = name.map((key) => (/^[\p{L}_]\w*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`));
const path = fc
  .array(fc.oneof({ weight: 20, arbitrary: step }, fc.constant('[0]')), { minLength: 1, maxLength: 2 })
  .map((steps) => `c${steps.join('')}`);
const operator = fc.constantFrom('=', '=', '!=', '<', '<=', '>', '>=');
const literal = fc
  .oneof({ weight: 20, arbitrary: fc.constantFrom<JsonValue>(0, 1, 2, 2 ** 53 - 1, 'a', 'é', '') }, value)
  .map((each) => JSON.stringify(each));
const comparison = fc
  .tuple(path, operator, fc.oneof({ weight: 20, arbitrary: literal }, path), fc.boolean())
  .map(([left, is, right, turned]) => (turned ? `${right} ${is} ${left}` : `${left} ${is} ${right}`));
const condition = fc
  .tuple(fc.array(comparison, { minLength: 1, maxLength: 3 }), fc.constantFrom('and', 'and', 'AND', 'or'))
  .map(([comparisons, joint]) => `from c where ${comparisons.join(` ${joint} `)}`);

describe('a simple condition', () => {
  it('holds exactly when a query says so', () => {
    let answered = 0;
    fc.assert(
      fc.property(item, condition, (fields, text) => {
        // As in the store: what JSON says of the item, with system properties after its own.
        const doc = JSON.stringify({ ...fields, _ts: 1 });
        const parsed = JSON.parse(JSON.stringify(fields)) as JsonObject;
        const answer = simpleCondition(text)?.(parsed);
        if (answer === undefined) return;
        answered++;
        expect(answer).toBe(byQuery(text, { doc }, parsed, 0));
      }),
      { numRuns: 3_000 },
    );
    expect(answered).toBeGreaterThan(300);
  });

  it('holds exactly when a query says so for a value that is there', () => {
    let answered = 0;
    fc.assert(
      fc.property(value, value, fc.constantFrom('=', '!=', '<', '<=', '>', '>='), (there, wanted, is) => {
        for (const other of [there, wanted]) {
          const text = `from c where c.a.b ${is} ${JSON.stringify(other)}`;
          const parsed = JSON.parse(JSON.stringify({ a: { b: there } })) as JsonObject;
          const answer = simpleCondition(text)?.(parsed);
          if (answer === undefined) continue;
          answered++;
          expect(answer).toBe(byQuery(text, { doc: JSON.stringify(parsed) }, parsed, 0));
        }
      }),
      { numRuns: 2_000 },
    );
    expect(answered).toBeGreaterThan(500);
  });

  it.each([
    `from c where c.claim.batchId = 'x' and c.n <= 5`,
    `FROM root WHERE root["a"] = "x"`,
    `from c where (c.n > -1) and 5 >= c.n`,
  ])('needs no query: %s', (text) => {
    expect(simpleCondition(text)).toBeDefined();
  });

  it.each([
    `from c where c.a = 'x' or c.b = 'y'`,
    `from c where not (c.a = 'x')`,
    `from c where c.a < 'x'`,
    `from c where c.n = 1.5`,
    `from c where c.n = 9007199254740992`,
    `from c where c.a = null`,
    `from c where c.a = c.b`,
    `from c where c._ts = 1`,
    `from c where c.a[0] = 1`,
    `from c where d.a = 1`,
    `from c join d in c.list where c.a = 1`,
    `from c x where x.a = 1`,
    `from c.a where a.b = 1`,
    `from c where c.a = 1 order by c.a`,
    `from c where c.a = 1 offset 1 limit 1`,
    `from c where c.a = @p`,
    `+ 1 from c where c.a = 1`,
    `from c where ${Array(1_000).fill('c.a = 1').join(' and ')}`,
    `from c`,
    `from c where`,
    ``,
  ])('is left to a query: %s', (text) => {
    expect(simpleCondition(text)).toBeUndefined();
  });

  it('is left to a query on a number that is not a whole one', () => {
    const holds = simpleCondition('from c where c.n < 2');
    expect([1, 1.5, 2 ** 53, '1'].map((n) => holds?.({ n }))).toEqual([true, undefined, undefined, false]);
  });

  it('is parsed once while few are in use, and right when many are', () => {
    const conditions = createSimpleConditions();
    expect(conditions('from c where c.n = 1')).toBe(conditions('from c where c.n = 1'));
    for (let n = 0; n < 2_000; n++) expect(conditions(`from c where c.n = ${n}`)?.({ n })).toBe(true);
  });
});
