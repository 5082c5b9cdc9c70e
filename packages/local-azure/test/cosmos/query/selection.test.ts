import { describe, expect, it } from 'vitest';
import { tableOfItems } from './tableOfItems.ts';

const smith = {
  id: 'smith',
  p: 'a',
  name: 'Smith',
  address: { city: 'Oslo', zip: null },
  tags: ['x', 'y'],
  'odd "key\'': 1,
  children: [
    { name: 'Ann', grade: 5, pets: [{ name: 'Rex' }] },
    { name: 'Bob', grade: 2, pets: [] },
  ],
};
const jones = { id: 'jones', p: 'b', name: 'Jones', tags: [], children: [{ name: 'Cid', grade: 5 }] };
const stray = { id: 'stray', p: 'b', tags: 'none', children: null };

const { all } = tableOfItems([smith, jones, stray]);

describe('SELECT', () => {
  it.each<[query: string, results: unknown[]]>([
    ['SELECT * FROM c', [smith, jones, stray]],
    ['SELECT VALUE c FROM c', [smith, jones, stray]],
    ['SELECT * FROM anything', [smith, jones, stray]],
    ["SELECT f.id FROM families AS f WHERE f.id = 'jones'", [{ id: 'jones' }]],
    ["SELECT f.id FROM families f WHERE f.id = 'jones'", [{ id: 'jones' }]],
    ['SELECT c.name FROM c', [{ name: 'Smith' }, { name: 'Jones' }, {}]],
    ['SELECT VALUE c.name FROM c', ['Smith', 'Jones']],
    ['SELECT VALUE c.address.zip FROM c', [null]],
    ['SELECT c.name AS who, c.p part, 1 FROM c WHERE c.id = "smith"', [{ who: 'Smith', part: 'a', $1: 1 }]],
    ['SELECT c["odd \\"key\'"] FROM c WHERE c.id = "smith"', [{ 'odd "key\'': 1 }]],
    ['SELECT c.tags[1], c.children[0].name FROM c WHERE c.id = "smith"', [{ $1: 'y', name: 'Ann' }]],
    ['SELECT c FROM c WHERE c.id = "jones"', [{ c: jones }]],
    [
      'SELECT VALUE {who: c.name, list: [c.p, c.none, c.address.city]} FROM c WHERE c.id = "smith"',
      [{ who: 'Smith', list: ['a', 'Oslo'] }],
    ],
    ['SELECT 1 AS one', [{ one: 1 }]],
    ['SELECT VALUE undefined FROM c', []],
    ['SELECT * FROM c.address', [{ city: 'Oslo', zip: null }]],
    ['SELECT address.city FROM c.address', [{ city: 'Oslo' }]],
  ])('%s', (query, results) => {
    expect(all(query)).toEqual(results);
    expect(all(query, {}, { maxItems: 1 })).toEqual(results);
  });
});

describe('FROM … IN, JOIN and subqueries', () => {
  it.each<[query: string, results: unknown[]]>([
    ['SELECT VALUE t FROM t IN c.tags', ['x', 'y']],
    ['SELECT VALUE k.name FROM k IN c.children WHERE k.grade > 3', ['Ann', 'Cid']],
    [
      'SELECT c.id, k.name FROM c JOIN k IN c.children',
      [
        { id: 'smith', name: 'Ann' },
        { id: 'smith', name: 'Bob' },
        { id: 'jones', name: 'Cid' },
      ],
    ],
    ['SELECT k.name, t FROM c JOIN k IN c.children JOIN t IN k.pets', [{ name: 'Ann', t: { name: 'Rex' } }]],
    ['SELECT VALUE t FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t != "x") AS t', ['y']],
    ['SELECT VALUE v FROM c JOIN v IN (SELECT VALUE c.tags)', ['x', 'y']],
    [
      'SELECT VALUE c.id FROM c WHERE EXISTS (SELECT VALUE k FROM k IN c.children WHERE k.grade = 2)',
      ['smith'],
    ],
    ['SELECT VALUE c.id FROM c WHERE NOT EXISTS (SELECT 1 FROM k IN c.children)', ['stray']],
    ['SELECT VALUE ARRAY(SELECT VALUE k.name FROM k IN c.children) FROM c', [['Ann', 'Bob'], ['Cid'], []]],
    [
      'SELECT VALUE ARRAY(SELECT k.name, k.none FROM k IN c.children ORDER BY k.name DESC) FROM c WHERE c.id = "smith"',
      [[{ name: 'Bob' }, { name: 'Ann' }]],
    ],
    ['SELECT VALUE (SELECT VALUE COUNT(1) FROM k IN c.children) FROM c', [2, 1, 0]],
    ['SELECT VALUE s.up FROM c JOIN (SELECT UPPER(c.name) AS up) AS s', ['SMITH', 'JONES']],
    ['SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.p FROM c)', [{ n: 2 }]],
  ])('%s', (query, results) => {
    expect(all(query)).toEqual(results);
    expect(all(query, {}, { maxItems: 1 })).toEqual(results);
  });
});

describe('parameters', () => {
  it.each<[value: unknown, ids: string[]]>([
    ['Smith', ['smith']],
    [['x', 'y'], ['smith']],
    [{ zip: null, city: 'Oslo' }, ['smith']],
    [null, ['stray']],
    [true, []],
    [5, []],
  ])('may be %j', (value, ids) => {
    const query = 'SELECT VALUE c.id FROM c WHERE @v IN (c.name, c.tags, c.address, c.children)';
    expect(all(query, { v: value })).toEqual(ids);
  });

  it('of other types and values do not reuse the wrong statement for the same text', () => {
    const query = 'SELECT VALUE c.id FROM c WHERE c[@key] = @v';
    expect(all(query, { key: 'name', v: 'Jones' })).toEqual(['jones']);
    expect(all(query, { key: 'p', v: 'b' })).toEqual(['jones', 'stray']);
    expect(all(query, { key: 'children', v: null })).toEqual(['stray']);
    expect(all('SELECT TOP @n VALUE c.id FROM c', { n: 2 })).toEqual(['smith', 'jones']);
    expect(all('SELECT TOP @n VALUE c.id FROM c', { n: 1 })).toEqual(['smith']);
  });
});

it.each(['a"b', 'a\\b', 'a.b', 'a[0]', 'a\nb', '', "it's", '$', '😀', '\u0001', '0'])(
  'a property may be named %j',
  (name) => {
    const text = JSON.stringify(name);
    const table = tableOfItems([{ [name]: { v: 1 } }, { [name]: 2 }]);

    expect(table.all(`SELECT c[${text}] FROM c WHERE c[${text}] = 2 ORDER BY c[${text}]`)).toEqual([
      { [name]: 2 },
    ]);
    expect(table.all('SELECT VALUE c[@name].v FROM c', { name })).toEqual([1]);
  },
);
