import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { strFromU8, unzipSync } from 'fflate';
import { afterAll, expect, test } from 'vitest';
import { removeFolder } from '../support/removeFolder.ts';

const script = fileURLToPath(new URL('../../scripts/keepRelease.ts', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'payonce-keep-'));
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const path = join(out, `payonce-${version}.zip`);
afterAll(() => removeFolder(out));

const keep = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['--', script, '--out', out, ...args]);

test('keeps the package without dependencies and source maps, reproducibly, and replaces a version only if told', async () => {
  await keep();
  const first = readFileSync(path);
  const entries = unzipSync(first);
  const names = Object.keys(entries);
  expect(names.filter((name) => !/^dist\/\w+\.js$/.test(name))).toEqual(['host.json', 'package.json']);
  expect(names).toEqual(expect.arrayContaining(['dist/main.js', 'dist/functions.js']));
  expect(JSON.parse(strFromU8(entries['package.json'] ?? new Uint8Array()))).toMatchObject({ version });

  await expect(keep()).rejects.toThrow(/exists: expected a new version in package\.json, or --force/);
  await keep('--force');
  expect(readFileSync(path).equals(first)).toBe(true);
  // The app is built twice, which takes a busy machine a minute.
}, 180_000);
