import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, test } from 'vitest';

/**
 * The path of a program on PATH or in one of the folders, which may be patterns. Undefined if
 * it is not installed.
 */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const elsewhere = folders.flatMap((pattern) => globSync(pattern)).toSorted();
  return [...onPath, ...elsewhere].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A `describe` for tests that need a server. Without it they are skipped, and their name says what is missing. In CI they
 * fail instead: there everything is installed.
 */
export function describeWith(
  programs: Readonly<Record<string, string | undefined>>,
  name: string,
  suite: () => void | Promise<void>,
): void {
  const timeout = 60_000;
  const missing = Object.keys(programs).filter((program) => programs[program] === undefined);
  if (missing.length === 0) {
    describe(name, { timeout }, () => suite());
    return;
  }
  const why = `${name}: ${missing.join(' and ')} not installed`;
  test.skipIf(process.env.CI !== 'true')(why, () => {
    throw new Error(`${why}; .ci/run should install it`);
  });
}
