import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHostProcess } from './support/functionsHostProcess.ts';
import { settingsFor, startLocalCloud } from './support/localCloud.ts';

const script = fileURLToPath(new URL('../scripts/package.ts', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'payonce-package-'));
const folder = join(out, 'package');
let printed = '';

beforeAll(async () => {
  // Ends with an error where the package is larger than it may be.
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--out', out]);
  printed = stdout;
}, 120_000);

afterAll(() => rmSync(out, { recursive: true, force: true }));

test('its sizes are printed', () => {
  expect(printed).toMatch(/package: \d+ files, \d+ packages, [\d.]+ MB\n.*payonce\.zip: [\d.]+ MB/);
});

test('it holds the build, host.json and production dependencies: no sources, tests or development tools', () => {
  expect(readdirSync(folder).sort()).toEqual(['dist', 'host.json', 'node_modules', 'package.json']);
  expect(readdirSync(join(folder, 'dist'))).toEqual(['src']);
  const modules = readdirSync(join(folder, 'node_modules'));
  expect(modules).toContain('stripe');
  for (const tool of ['vitest', 'azurite', 'typescript', 'fast-check', '@biomejs', 'fflate'])
    expect(modules).not.toContain(tool);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => /\.(ts|map)$|local\.settings\.json$|(^|[\\/])\.env/.test(file))).toEqual([]);
});

test('the zip holds the same files', () => {
  const entries = Object.keys(unzipSync(readFileSync(join(out, 'payonce.zip'))));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(entries).toHaveLength(files.length);
  expect(entries).toEqual(expect.arrayContaining(['host.json', 'package.json', 'dist/src/payonce.js']));
});

test('it starts in the local host and pays an invoice', { timeout: 60_000 }, async () => {
  await using cloud = await startLocalCloud();
  await using host = await startHostProcess({
    app: folder,
    env: {
      ...settingsFor(cloud),
      INSTANCE_ID: 'packaged',
      INVOICE_SCHEDULE: '*/1 * * * * *',
      OUTBOX_SCHEDULE: '*/5 * * * * *',
    },
  });
  expect(host.lines.join('\n')).toContain('dist/src/functions/executePayments.js');
  const invoice = {
    id: 'packaged-1',
    customerId: 'customer-1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2024-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };
  const imported = await fetch(`${host.address}/api/ops/invoices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([invoice]),
  });
  expect(await imported.json()).toMatchObject({ created: 1, rejected: [] });
  await expect
    .poll(async () => (await fetch(`${host.address}/api/ops/invoices/${invoice.id}`)).json(), {
      timeout: 45_000,
      interval: 250,
    })
    .toMatchObject({ status: 'paid' });
  const charges = await (await fetch(`${cloud.payments}/_local/charges`)).json();
  expect(charges).toMatchObject([{ invoiceId: invoice.id, amount: invoice.amountMinor }]);
});
