import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildDashboard } from '../../scripts/buildDashboard.ts';
import { builtFiles } from '../../src/dashboard/serveDashboard.ts';
import { removeFolder } from '../support/removeFolder.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
const built = join(folder, 'ui');
beforeAll(() => buildDashboard(built), 60_000);
afterAll(() => removeFolder(folder));

test('the whole dashboard is at most 100 KB gzipped', () => {
  const sizes = [...builtFiles(built).values()].map(({ gzipped }) => gzipped.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(100_000);
});

test('it is one script and one style, under the names that may be loaded without a sign-in', () => {
  expect([...builtFiles(built).keys()].toSorted()).toEqual([
    'assets/index.css',
    'assets/index.js',
    'icon.svg',
    'index.html',
  ]);
});

test('the page names no other origin and holds no inline script or style', () => {
  const page = readFileSync(join(built, 'index.html'), 'utf8');
  expect(page).not.toMatch(/https?:|<style|<script(?![^>]*\bsrc="\/api\/ops\/ui\/assets\/)/);
});

test('of two processes that build at once, the second leaves in place what the first has built', async () => {
  const root = join(folder, 'page');
  mkdirSync(root);
  writeFileSync(join(root, 'index.html'), '<p>a page');
  const into = join(folder, 'built');
  let isThere = false;
  const once = () => buildDashboard(into, { root, publicDir: false }, () => !isThere);
  await once();
  isThere = true;
  writeFileSync(join(into, 'mark'), 'of the first');
  await once();
  expect(readdirSync(into)).toContain('mark');
});
