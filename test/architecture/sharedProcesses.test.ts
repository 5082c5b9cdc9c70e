import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { needsOwnProcess } from '../support/needsOwnProcess.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const find = (patterns: readonly string[]) =>
  globSync(patterns, { cwd: root }).map((file) => file.replaceAll('\\', '/'));

/**
 * Code that changes a process for the file that runs in it next: its clock, environment, folder, modules or
 * tracer.
 */
const replaces =
  /\bvi\.(useFakeTimers|stubEnv|stubGlobal|mock|doMock)\(|\bprocess\.(chdir\(|env\.\w+ \??\??= )|\bglobalThis\.\w+ = |\b(registerTracer|recordSpans|exportTraces)\(/;
const found = (files: readonly string[]) =>
  files.filter((file) => replaces.test(readFileSync(join(root, file), 'utf8')));

test('a test file that replaces something of its process has one of its own', () => {
  const own = new Set(find(needsOwnProcess));
  const shared = find(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts']).filter((file) => !own.has(file));
  expect(shared.length).toBeGreaterThan(200);
  expect(found(shared).filter((file) => file !== 'test/architecture/sharedProcesses.test.ts')).toEqual([]);
});

test('each line of the list names files that exist', () => {
  expect(needsOwnProcess.filter((pattern) => find([pattern]).length === 0)).toEqual([]);
});

test('the check sees what it is for', () => {
  expect(found(find(['test/ops/health.test.ts', 'test/paying/traced.test.ts']))).toHaveLength(2);
});
