import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { entryPoints } from '../../src/functionsHost/worker/loadApp.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'entry-points-'));
});
afterEach(() => removeFolder(dir));

/** Writes an empty file, last modified `at` seconds after the epoch. */
function file(path: string, at: number): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), '');
  utimesSync(join(dir, path), at, at);
}

const main = 'dist/src/functions/*.js';

test('loads the build if it is as new as the sources', () => {
  file('src/functions/a.ts', 10);
  file('src/other.ts', 20);
  file('dist/src/functions/a.js', 20);
  expect(entryPoints(dir, main)).toEqual(['dist/src/functions/a.js']);
});

test('loads the sources if there is no build', () => {
  file('src/functions/b.ts', 10);
  file('src/functions/a.ts', 10);
  expect(entryPoints(dir, main)).toEqual(['src/functions/a.ts', 'src/functions/b.ts']);
});

test('loads the sources if any source file is newer than the build', () => {
  file('src/functions/a.ts', 10);
  file('src/deep/down/other.ts', 21);
  file('dist/src/functions/a.js', 20);
  expect(entryPoints(dir, main)).toEqual(['src/functions/a.ts']);
});

test('loads the sources if the build lacks an entry point or has an extra one', () => {
  file('src/functions/a.ts', 10);
  file('src/functions/b.ts', 10);
  file('dist/src/functions/a.js', 20);
  expect(entryPoints(dir, main)).toEqual(['src/functions/a.ts', 'src/functions/b.ts']);
  file('dist/src/functions/b.js', 20);
  file('dist/src/functions/c.js', 20);
  expect(entryPoints(dir, main)).toEqual(['src/functions/a.ts', 'src/functions/b.ts']);
});

test('loads the build if there are no sources (a deployed app)', () => {
  file('dist/src/functions/a.js', 20);
  expect(entryPoints(dir, main)).toEqual(['dist/src/functions/a.js']);
});

test('uses main unchanged if it is outside dist/', () => {
  file('index.js', 1);
  file('index.ts', 2);
  expect(entryPoints(dir, 'index.js')).toEqual(['index.js']);
});
