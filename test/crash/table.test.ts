import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Position } from './gate.ts';
import { crashPointTables, replaceTables, type SweptPoint } from './table.ts';
import type { Verdict } from './trial.ts';

const page = readFileSync('docs/crash-points.md', 'utf8');

function swept(
  scenario: string,
  label: string,
  kind: 'held' | 'notReached' = 'held',
  position: Position = 'before',
): SweptPoint {
  const verdict: Verdict = { kind };
  return {
    scenario: { name: scenario },
    point: { label, occurrence: 1, position },
    verdict,
    recoveredMs: 9_600,
  };
}

test('all scenarios share one table; a request that only a later one makes goes behind its predecessor', () => {
  const tables = crashPointTables([
    swept('one', 'claim'),
    swept('one', 'charge'),
    swept('two', 'claim'),
    swept('two', 'sweep', 'notReached'),
    swept('two', 'sweep', 'held', 'after'),
    swept('two', 'charge'),
  ]);
  expect(tables).toBe(`| scenario | points | held | not reached | broken |
| --- | --- | --- | --- | --- |
| \`one\` | 2 | 2 | 0 | 0 |
| \`two\` | 4 | 3 | 1 | 0 |
| all | 6 | 5 | 1 | 0 |

| request | one | two | slowest recovery |
| --- | --- | --- | --- |
| claim | 1/1 | 1/1 | 10 s |
| sweep |  | 1/2 | 10 s |
| charge | 1/1 | 1/1 | 10 s |`);
});

test('only what is between the markers of the page is replaced', () => {
  const before = `# Points

Before.

<!-- Written by \`npm run check -- crash --write\`: begin -->

| old |

<!-- end -->

After.
`;
  expect(replaceTables(before, '| new |')).toBe(`# Points

Before.

<!-- Written by \`npm run check -- crash --write\`: begin -->

| new |

<!-- end -->

After.
`);
  expect(() => replaceTables('no markers', 'NEW')).toThrow('the page must have the lines');
});

test('the tables of the page agree with each other and with the figures in exactly-once.md', () => {
  const totals = new Map(
    [...page.matchAll(/^\| `?([\w-]+)`? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(
      ([, name = '', ...figures]) => [name, figures.map(Number)],
    ),
  );
  const [, header = ''] = /^\| request \| (.*) \| slowest recovery \|$/m.exec(page) ?? [];
  const names = header.split(' | ');
  expect([...totals.keys()]).toEqual([...names, 'all']);
  const rows = [...page.matchAll(/^\| .+? \| (.*) \| \d+ s \|$/gm)].map(([, cells = '']) =>
    cells.split(' | '),
  );
  for (const [column, name] of names.entries()) {
    const cells = rows.map((row) => (row[column] ?? '').trim()).filter((each) => each !== '');
    const sum = (part: 0 | 1) =>
      cells.map((each) => Number(each.split('/')[part])).reduce((a, b) => a + b, 0);
    const [points, held] = totals.get(name) ?? [];
    expect({ name, points: sum(1), held: sum(0) }).toEqual({ name, points, held });
  }
  const [points, held, missed, broken] = totals.get('all') ?? [];
  expect(broken).toBe(0);
  const summary = readFileSync('docs/exactly-once.md', 'utf8').replaceAll(/\s+/g, ' ');
  expect(summary).toContain(
    `of ${points} points in four scenarios, ${held} held, none broke, and ${missed} ${missed === 1 ? 'was' : 'were'}`,
  );
});
