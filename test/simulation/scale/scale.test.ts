import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runProgram } from '../../support/runProgram.ts';

const program = fileURLToPath(new URL('main.ts', import.meta.url));
const resultSchema = z.object({
  seconds: z.number(),
  idealSeconds: z.number(),
  claimsPerInvoice: z.number(),
  paid: z.int(),
  charges: z.int(),
  refusedShare: z.number(),
  cosmosPerInvoice: z.number(),
});

// docs/scale.md has the same up to a million, for which this takes too long.
test('four thousand invoices due at once: twenty instances pay each once, at the pace allowed', async () => {
  const { code, output } = await runProgram(program, ['--invoices', '4000', '--json']);
  expect(code, output).toBe(0);
  const json = output.split('\n').find((line) => line.startsWith('{'));
  const result = resultSchema.parse(JSON.parse(json ?? ''));
  expect(result).toMatchObject({ paid: 4_000, charges: 4_000, claimsPerInvoice: 1, idealSeconds: 40 });
  // No faster than the bucket of the provider allows, which is a second deep, and slower only by the beginning and the end.
  expect(result.seconds).toBeGreaterThan(39);
  expect(result.seconds).toBeLessThan(40 * 1.03 + 5);
  expect(result.refusedShare).toBeLessThan(0.01);
  expect(result.cosmosPerInvoice).toBeLessThan(1);
}, 120_000);

test.each([
  [['--invoices', 'many'], '--invoices: expected a whole number'],
  [['--invoices', '10', '--rate', '0'], '--rate: expected a whole number from 1 to 10000, got "0"'],
])('%j is refused', async (args, expected) => {
  const { code, output } = await runProgram(program, args);
  expect(code).not.toBe(0);
  expect(output).toContain(expected);
});
