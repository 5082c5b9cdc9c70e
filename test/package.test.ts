import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startHostProcess } from './support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from './support/localCloud.ts';
import { removeFolder } from './support/removeFolder.ts';
import { until } from './support/until.ts';

const script = (name: string) => fileURLToPath(new URL(`../scripts/${name}`, import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'payonce-package-'));
const folder = join(out, 'package');
let printed = '';

beforeAll(async () => {
  // Exits with an error if the package is too large.
  const { stdout } = await promisify(execFile)(process.execPath, [script('package.ts'), '--out', out]);
  printed = stdout;
}, 120_000);

afterAll(() => removeFolder(out));

test('prints its sizes', () => {
  expect(printed).toMatch(/package: \d+ files, \d+ packages, [\d.]+ MB\n.*payonce\.zip: [\d.]+ MB/);
});

test('contains the build, host.json and production dependencies: no sources, tests or development tools', () => {
  expect(readdirSync(folder).sort()).toEqual([
    'dist',
    'host.json',
    'node_modules',
    'package.json',
    'sbom.cdx.json',
  ]);
  expect(readdirSync(join(folder, 'dist'))).toEqual(['src', 'ui']);
  expect(readdirSync(join(folder, 'dist', 'ui'))).toEqual(['assets', 'icon.svg', 'index.html']);
  const modules = readdirSync(join(folder, 'node_modules'));
  expect(modules).toContain('stripe');
  for (const tool of [
    'vitest',
    'vite',
    'preact',
    '@sparticuz',
    'azurite',
    'typescript',
    'fast-check',
    '@biomejs',
    'fflate',
  ])
    expect(modules).not.toContain(tool);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => /\.(ts|map)$|local\.settings\.json$|(^|[\\/])\.env/.test(file))).toEqual([]);
});

test('lists every package that is in it, and no other, with its version and hash', () => {
  const found = readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /(^|\/node_modules\/)(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
    .map((path) => packageSchema.parse(JSON.parse(readFileSync(join(folder, 'node_modules', path), 'utf8'))))
    .map(({ name, version }) => `${name}@${version}`);
  const text = readFileSync(join(folder, 'sbom.cdx.json'), 'utf8');
  const { components } = sbomSchema.parse(JSON.parse(text));
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  expect(new Set(listed)).toEqual(new Set(found));
  expect(found.length).toBeGreaterThan(100);
  expect(text).not.toMatch(/serialNumber|timestamp/);
});
const packageSchema = z.object({ name: z.string(), version: z.string() });
const sbomSchema = z.object({
  components: z.array(
    packageSchema.extend({ hashes: z.array(z.object({ alg: z.literal('SHA-512') })).min(1) }),
  ),
});

test('requires the Node version that these tests and infra/ use', () => {
  const [major] = process.versions.node.split('.');
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: `>=${major}` } });
  const functionApp = new URL('../infra/modules/functionApp.bicep', import.meta.url);
  expect(readFileSync(functionApp, 'utf8')).toContain(`version: '${major}'`);
});

test.each([
  ['redis', 'redis'],
  ['postgres', 'pg'],
  ['postgres-advisory', 'pg'],
  ['mysql', 'mysql2'],
])('names the client that LOCKS=%s:// needs and that is not in it', async (scheme, client) => {
  const url = `${scheme}://127.0.0.1:1`;
  const code = `import { loadLockStore } from './dist/src/lockStores.js';
    await loadLockStore({ kind: '${scheme}', url: '${url}' }).catch((error) => console.log(String(error)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    cwd: folder,
  });
  expect(stdout).toBe(
    `ClientMissing: LOCKS needs the npm package "${client}", which is not installed: npm install ${client}\n`,
  );
});

test('the zip contains the same files', () => {
  const entries = Object.keys(unzipSync(readFileSync(join(out, 'payonce.zip'))));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(entries).toHaveLength(files.length);
  expect(entries).toEqual(expect.arrayContaining(['host.json', 'package.json', 'dist/src/payonce.js']));
});

test('without a payment key every function is there, and health says what is missing; with the key the app pays', {
  timeout: 120_000,
}, async () => {
  await using cloud = await startLocalCloud();
  const { STRIPE_SECRET_KEY = '', ...others } = settingsFor(cloud);
  const env = { ...others, INVOICE_SCHEDULE: '*/2 * * * * *', OUTBOX_SCHEDULE: '*/2 * * * * *' };
  const functionsOf = (host: { lines: string[] }) =>
    [...host.lines.join('\n').matchAll(/dist\/src\/functions\/(\w+\.js)/g)]
      .map(([, file = '']) => file)
      .toSorted();
  /** As the platform leaves the setting while the vault has no such secret. */
  const unresolved = '@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/stripe-secret-key/)';
  await sendOneOfEach(cloud);
  let indexed: string[];
  {
    await using host = await startHostProcess({
      app: folder,
      env: { ...env, STRIPE_SECRET_KEY: unresolved },
    });
    indexed = functionsOf(host);
    expect(indexed).toEqual(readdirSync(join(folder, 'dist/src/functions')).toSorted());
    const health = await fetch(`${host.address}/api/ops/health`);
    expect(health.status).toBe(503);
    expect(await health.text()).toContain('STRIPE_SECRET_KEY: is an unresolved Key Vault reference');
    for (const timer of ['processInvoices', 'sweepOutbox', 'trackPayments'])
      await host.line(new RegExp(`error ${timer} .*waitingFor`));
    // The messages wait, each as a copy that appears in two minutes.
    for (const trigger of ['executePayments', 'processWorkItem'])
      await host.line(new RegExp(`${trigger} \\S+ executed \\(succeeded`));
    // The host settles a message after it has logged the end of its function.
    await until(
      () => waitingIn(cloud),
      ({ scheduled, invisible }) => scheduled === 1 && invisible === 1,
    );
    expect(await waitingIn(cloud)).toEqual({ scheduled: 1, invisible: 1, abandoned: 0, deadLettered: 0 });
    expect(host.lines.filter((line) => /\b(failed|Failed)\b/.test(line))).toEqual([]);
  }
  // The first host was killed with the lease of its timers, which this one need not wait for.
  const args = ['--no-timer-singleton'];
  await using host = await startHostProcess({ app: folder, env: { ...env, STRIPE_SECRET_KEY }, args });
  expect(functionsOf(host)).toEqual(indexed);
  const command = [script('payOne.ts'), '--address', `${host.address}/api`];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  expect(stdout).toMatch(/: paid\n$/);
});

/** A payment command and a work item, before any host is there. */
async function sendOneOfEach({ serviceBus, queues }: LocalCloud): Promise<void> {
  const client = new ServiceBusClient(serviceBus);
  await client.createSender('payment-commands').sendMessages({ messageId: 'b1', body: { batchId: 'b1' } });
  await client.close();
  const item = JSON.stringify({ resourceId: 'i1', stage: 'receipt', input: {} });
  await queues.getQueueClient('work-items').sendMessage(Buffer.from(item).toString('base64'));
}

/** What waits in both queues, and what has gone wrong there. */
async function waitingIn({ serviceBusLocal, queues }: LocalCloud) {
  const answer = await fetch(`${serviceBusLocal}/_local/stats`);
  const stats = z.object({ queues: z.record(z.string(), z.record(z.string(), z.number())) });
  const { scheduled, abandoned, deadLettered } =
    stats.parse(await answer.json()).queues['payment-commands'] ?? {};
  const items = queues.getQueueClient('work-items');
  const { approximateMessagesCount = 0 } = await items.getProperties();
  const visible = (await items.peekMessages({ numberOfMessages: 32 })).peekedMessageItems.length;
  return { scheduled, abandoned, deadLettered, invisible: approximateMessagesCount - visible };
}

describe('in the local host', () => {
  const stack = new AsyncDisposableStack();
  let cloud: LocalCloud;
  let address: string;
  beforeAll(async () => {
    cloud = stack.use(await startLocalCloud());
    const host = stack.use(
      await startHostProcess({
        app: folder,
        env: {
          ...settingsFor(cloud),
          INSTANCE_ID: 'packaged',
          // Only manually started runs pay here.
          INVOICE_SCHEDULE: '0 0 0 1 1 *',
          OUTBOX_SCHEDULE: '*/5 * * * * *',
        },
      }),
    );
    expect(host.lines.join('\n')).toContain('dist/src/functions/queues.js');
    address = host.address;
  }, 60_000);
  afterAll(() => stack.disposeAsync());

  /** `npm run pay-one` */
  async function payOne(...args: string[]) {
    const command = [script('payOne.ts'), '--address', `${address}/api`, ...args];
    const { STRIPE_SECRET_KEY, STRIPE_API_BASE } = settingsFor(cloud);
    const env = { ...process.env, STRIPE_SECRET_KEY, STRIPE_API_BASE };
    return promisify(execFile)(process.execPath, command, { env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  }

  test('serves the dashboard', async () => {
    const page = await fetch(`${address}/api/ops/ui`);
    expect(page.status).toBe(200);
    const script = /src="([^"]+)"/.exec(await page.text())?.[1] ?? '';
    expect((await fetch(`${address}${script}`)).headers.get('content-type')).toContain('text/javascript');
  });

  test('pays an invoice', { timeout: 60_000 }, async () => {
    const { code, stdout } = await payOne('--customer', 'cus_1');
    const [, invoiceId] = /^(pay-one-\S+): paid\n$/.exec(stdout) ?? [];
    expect({ code, stdout, invoiceId }).toMatchObject({ code: 0, invoiceId: expect.any(String) });
    const charges = await (await fetch(`${cloud.payments}/_local/charges`)).json();
    expect(charges).toMatchObject([{ invoiceId, amount: 1999 }]);
  });

  test('pays an invoice of a customer that pay-one creates', { timeout: 60_000 }, async () => {
    const { code, stdout } = await payOne('--create-customer');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/: paid\n$/) });
  });

  test.each([
    ['pm_card_chargeDeclinedLostCard', 'declined (declined: lost_card'],
    ['pm_card_misspelt', 'parked (parked: resource_missing'],
    // The app would retry it in a day.
    ['pm_card_chargeDeclinedInsufficientFunds', 'pending ('],
  ])('with %s pay-one ends immediately and gives the reason', { timeout: 60_000 }, async (method, why) => {
    const { code, stdout } = await payOne('--payment-method', method);
    expect(stdout).toContain(why);
    expect(code).toBe(1);
  });
});
