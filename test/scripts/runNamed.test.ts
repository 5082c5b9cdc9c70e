import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../support/runProgram.ts';

const program = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

test.each([
  ['scripts/checks.ts', 'crash, fleet, '],
  ['scripts/packages.ts', 'library, local-azure, release'],
  ['local/main.ts', 'payments, traces, emulators'],
  ['bench/run.ts', 'pace, due-at-once, '],
])('%s names its programs if it is asked for another', async (path, names) => {
  expect(await runProgram(program(path), ['others'])).toEqual({
    code: 2,
    output: expect.stringContaining(`NAME is one of: ${names}`),
  });
});

test('a program gets the options after its name', async () => {
  expect(await runProgram(program('scripts/checks.ts'), ['storm', '--colour'])).toEqual({
    code: 1,
    output: expect.stringContaining("Unknown option '--colour'"),
  });
});

test('a campaign of tests is run by Vitest', async () => {
  expect(await runProgram(program('scripts/checks.ts'), ['long', '--help'])).toEqual({
    code: 0,
    output: expect.stringContaining('vitest run'),
  });
});
