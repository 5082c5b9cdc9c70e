import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './sources.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/second-region.md');
const cosmos = read('infra/modules/cosmos.bicep');

test('a forced failover of the database, as it is deployed, is a restore; the page says so', () => {
  const level = /defaultConsistencyLevel: '(\w+)'/.exec(cosmos)?.[1] ?? '';
  const row = page.split('\n').find((line) => line.includes('(as deployed)'));
  expect(row?.toLowerCase()).toContain(`forced failover, ${level.toLowerCase()} consistency (as deployed)`);
  // Only strong consistency leaves nothing out.
  expect(level === 'Strong' || /\*\*no\*\*: treat it as a \[restore\]/.test(row ?? '')).toBe(true);
});

test('one region writes: two could both win the same claim', () => {
  expect(cosmos).toContain('enableMultipleWriteLocations: false');
  expect(page).toContain('One write region, never several');
});

test('what the page tells people to set and to run is there', () => {
  const parameters = [...page.matchAll(/PAYONCE_\w+/g)].map(([name]) => name);
  expect(parameters).toContain('PAYONCE_PAYMENTS_PAUSED');
  expect(parameters.filter((name) => !read('infra/main.bicepparam').includes(`'${name}'`))).toEqual([]);
  const tests = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(tests.length).toBeGreaterThan(0);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
