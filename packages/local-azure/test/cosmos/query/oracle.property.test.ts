import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Doc, evaluate, type Filter, inOrder, type Json, toQuery } from './oracle.ts';
import { tableOfItems } from './tableOfItems.ts';

const numbers: Json[] = [0, 1, -1, 2, 1.5, 1e20];
const strings: Json[] = ['', 'a', 'A', 'ab', 'b', 'é', '1', 'it\'s "quoted"'];
const others: Json[] = [
  null,
  true,
  false,
  [],
  [1],
  ['a', null],
  {},
  { x: 1 },
  { x: 1, y: ['a'] },
  { y: ['a'], x: 1 },
];

/** A small pool of values and types, so that equal values and equal types meet often. */
const json: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...numbers) },
  { weight: 3, arbitrary: fc.constantFrom(...strings) },
  { weight: 2, arbitrary: fc.constantFrom(...others) },
);

const sometimes = fc.option(json, { nil: undefined, freq: 5 });

const doc: fc.Arbitrary<Doc> = fc
  .record({ a: sometimes, b: sometimes, n: fc.record({ v: json }), l: fc.array(json, { maxLength: 2 }) })
  .map(({ a, b, n, l }) => ({ ...(a !== undefined && { a }), ...(b !== undefined && { b }), n, l }));

const docs = fc
  .array(doc, { minLength: 4, maxLength: 12, size: 'max' })
  .map((all) => all.map((fields, index): Doc => ({ ...fields, id: `i${index}`, p: index % 2 })));

const path = fc.constantFrom<Filter>(
  ...[['a'], ['a'], ['b'], ['b'], ['n', 'v'], ['n'], ['l', 0], ['l', 'x'], ['none', 'x']].map(
    (steps): Filter => ({ kind: 'path', path: steps }),
  ),
);

const constantOf = (value: fc.Arbitrary<Json>): fc.Arbitrary<Filter> =>
  fc.record({ value, asParameter: fc.boolean() }).map((fields) => ({ kind: 'constant', ...fields }));
const constant = constantOf(json);
const constants = fc.oneof(
  ...[numbers, strings].map((pool) =>
    fc.array(constantOf(fc.constantFrom(...pool)), { minLength: 2, maxLength: 3 }),
  ),
  fc.array(constant, { minLength: 2, maxLength: 3 }),
);

const operator = fc.constantFrom('=', '!=', '<', '<=', '>', '>=');

const { condition } = fc.letrec<{ condition: Filter; value: Filter }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 6, arbitrary: path },
    { weight: 3, arbitrary: constant },
    fc.record({ kind: fc.constant('coalesce'), left: tie('value'), right: tie('value') }),
    fc.record({ kind: fc.constant('plus'), left: path, right: constantOf(fc.constantFrom(...numbers)) }),
    fc.record({
      kind: fc.constant('choice'),
      condition: tie('condition'),
      whenTrue: tie('value'),
      otherwise: tie('value'),
    }),
  ),
  condition: fc.oneof(
    { maxDepth: 3 },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('compare'), operator, left: path, right: constant }),
    },
    { weight: 2, arbitrary: between(path) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('in'), of: path, list: constants }) },
    fc.record({ kind: fc.constant('startsWith'), of: path, prefix: constantOf(fc.constantFrom(...strings)) }),
    path,
    fc.record({ kind: fc.constant('compare'), operator, left: tie('value'), right: tie('value') }),
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom('and', 'or'),
        left: tie('condition'),
        right: tie('condition'),
      }),
    },
    fc.record({ kind: fc.constant('not'), of: tie('condition') }),
    fc.record({
      kind: fc.constant('in'),
      of: tie('value'),
      list: fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
    }),
    between(tie('value')),
    fc.record({
      kind: fc.constant('check'),
      name: fc.constantFrom('IS_DEFINED', 'IS_NULL', 'IS_NUMBER', 'IS_STRING', 'IS_BOOL', 'IS_ARRAY'),
      of: tie('value'),
    }),
  ),
}));

function between(of: fc.Arbitrary<Filter>): fc.Arbitrary<Filter> {
  return fc.tuple(of, constants).map(([tested, [low, high]]) => ({
    kind: 'between',
    of: tested,
    low: low ?? tested,
    high: high ?? tested,
  }));
}

const sortKeys = fc.uniqueArray(fc.record({ key: fc.constantFrom('a', 'b'), descending: fc.boolean() }), {
  selector: ({ key }) => key,
  maxLength: 2,
});

describe('the engine agrees with a plain evaluation', () => {
  it('on filters, in any sort order, page size and partition', () => {
    fc.assert(
      fc.property(
        docs,
        condition,
        sortKeys,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom(undefined, 0, 1),
        (items, filter, keys, maxItems, partition) => {
          const parameters: Record<string, Json> = {};
          const order = keys.map(({ key, descending }) => `c.${key}${descending ? ' DESC' : ''}`).join(', ');
          const query = `SELECT VALUE c.id FROM c WHERE ${toQuery(filter, parameters)}${order && ` ORDER BY ${order}`}`;

          const found = tableOfItems(items).all(query, parameters, { maxItems, partition });

          expect(found, query).toEqual(expected(items, filter, keys, partition));
        },
      ),
      { numRuns: 600 },
    );
  });

  it('on the value of a condition: true, false or undefined', () => {
    fc.assert(
      fc.property(doc, condition, (fields, filter) => {
        const parameters: Record<string, Json> = {};
        const query = `SELECT VALUE ${toQuery(filter, parameters)} FROM c`;

        const [found] = tableOfItems([fields]).all(query, parameters);

        expect(found, query).toEqual(evaluate(filter, fields));
      }),
      { numRuns: 400 },
    );
  });
});

function expected(
  items: Doc[],
  filter: Filter,
  keys: { key: string; descending: boolean }[],
  partition: number | undefined,
): unknown[] {
  const places = new Map(items.map((item, index) => [item, index]));
  const place = (item: Doc) => places.get(item) ?? 0;
  return items
    .filter((item) => (partition === undefined || item.p === partition) && evaluate(filter, item) === true)
    .sort((left, right) => {
      for (const { key, descending } of keys) {
        const order = inOrder(left[key], right[key]);
        if (order !== 0) return descending ? -order : order;
      }
      return keys[0]?.descending === true ? place(right) - place(left) : place(left) - place(right);
    })
    .map(({ id }) => id);
}
