import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Loads a program, or gives arguments for Vitest. */
export type Named = (() => Promise<unknown>) | readonly string[];

/**
 * Runs the program that the first argument names, with the arguments after it, or `unnamed` if there are only options. With a
 * name that it does not know it prints the names and exits with 2.
 */
export async function runNamed(
  command: string,
  programs: Readonly<Record<string, Named>>,
  unnamed?: () => Promise<unknown>,
): Promise<void> {
  if (unnamed !== undefined && (process.argv[2] ?? '-').startsWith('-')) {
    await unnamed();
    return;
  }
  const [name = ''] = process.argv.splice(2, 1);
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) {
    console.error(`${command} -- NAME, where NAME is one of: ${Object.keys(programs).join(', ')}`);
    process.exitCode = 2;
  } else if (typeof program === 'function') {
    await program();
  } else {
    const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
    const args = [vitest, 'run', ...program, ...process.argv.slice(2)];
    process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
  }
}
