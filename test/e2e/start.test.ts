import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { removeFolder } from '../support/removeFolder.ts';
import { runProgram } from '../support/runProgram.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-start-'));
afterAll(() => removeFolder(folder));

function start(...options: string[]) {
  return runProgram('local/start.ts', ['--once', '--folder', folder, ...options]);
}

describe('npm start -- --once', () => {
  test('five hosts without the platform’s timer lock pay each due invoice of the sample once; a second run pays nothing', async () => {
    const first = await start('--instances', '5', '--no-timer-singleton');
    expect(first.output).toContain('Everything adds up.');
    expect(first.output).toMatch(/^Imported {4}384 new, 2 known already, 14 refused:$/m);
    expect(first.output).toMatch(/^Paid {8}310$/m);
    expect(first.output).toMatch(/^Declined {4}14$/m);
    expect(first.output).toMatch(
      /^Charges {5}310 in the payment ledger for 310 paid invoices, 310 of them new$/m,
    );
    expect(first.output).toMatch(/^Charged twice: 0$/m);
    expect(first.code).toBe(0);

    const second = await start('--instances', '1');
    expect(second.output).toMatch(/^Imported {4}0 new, 386 known already, 14 refused:$/m);
    expect(second.output).toMatch(
      /^Charges {5}310 in the payment ledger for 310 paid invoices, 0 of them new$/m,
    );
    expect(second.code).toBe(0);
  }, 480_000);
});
