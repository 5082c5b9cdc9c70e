import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bundleApp, productionWith } from '../scripts/bundle.ts';
import { filesUnder } from '../scripts/compile.ts';
import { startHostProcess } from './support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from './support/localCloud.ts';
import { removeFolder } from './support/removeFolder.ts';
import { until } from './support/until.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
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

test('contains the bundle, the dashboard and host.json: no sources, packages or settings', () => {
  const top = ['dist', 'host.json', 'licenses.txt', 'package.json', 'sbom.cdx.json'];
  expect(readdirSync(folder).sort()).toEqual(top);
  expect(readdirSync(join(folder, 'dist', 'ui'))).toEqual(['assets', 'icon.svg', 'index.html']);
  const built = readdirSync(join(folder, 'dist')).filter((name) => name !== 'ui');
  expect(built).toEqual(expect.arrayContaining(['main.js', 'functions.js', 'redisLockStore.js']));
  expect(built.filter((name) => !/\.js(\.map)?$/.test(name))).toEqual([]);
  expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
});

test('lists every package that is in it, and no other, with its version, hash and licence', () => {
  const found = readdirSync(join(folder, 'dist'))
    .filter((name) => name.endsWith('.map'))
    .flatMap((name) => mapSchema.parse(JSON.parse(readFileSync(join(folder, 'dist', name), 'utf8'))).sources)
    .map((source) => /^\.\.\/(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1])
    .filter((path) => path !== undefined)
    .map((path) => packageSchema.parse(JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))))
    .map(({ name, version }) => `${name}@${version}`);
  const text = readFileSync(join(folder, 'sbom.cdx.json'), 'utf8');
  const { components } = sbomSchema.parse(JSON.parse(text));
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  const ofDashboard = listed.filter((name) => /^(d3-\w+|internmap|preact)@/.test(name));
  expect(ofDashboard).toContainEqual(expect.stringMatching(/^preact@/));
  expect(new Set(listed)).toEqual(new Set([...found, ...ofDashboard]));
  expect(listed).toContainEqual(expect.stringMatching(/^stripe@/));
  expect(text).not.toMatch(/serialNumber|timestamp/);
  const licences = readFileSync(join(folder, 'licenses.txt'), 'utf8');
  expect(
    [...licences.matchAll(/^(?:@[\w-]+\/)?[\w.-]+@\d\S*?(?=:|$)/gm)].map(([name]) => name).sort(),
  ).toEqual([...new Set(listed)].sort());
  expect(licences).toMatch(/^stripe@[\d.]+: MIT\n\n[^-]*Permission is hereby granted/m);
});
const packageSchema = z.object({ name: z.string(), version: z.string() });
const mapSchema = z.object({ sources: z.array(z.string()) });
const sbomSchema = z.object({
  components: z.array(
    packageSchema.extend({ hashes: z.array(z.object({ alg: z.literal('SHA-512') })).min(1) }),
  ),
});

test('has none of the switches of the demo, which take guards away, and nothing else of local/ or of tests', () => {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const code = names.filter((name) => /\.(js|html)$/.test(name)).map(read);
  expect(code.join('\n')).toContain('claimBatch');
  expect(code.join('\n')).not.toMatch(
    /withLeaseSwitch|withClaimSwitch|withoutConditions|DEMO_SWITCHES|Break it yourself/,
  );
  const sources = names
    .filter((name) => name.endsWith('.map'))
    .flatMap((name) => mapSchema.parse(JSON.parse(read(name))).sources);
  expect(sources).toContain('../src/app.ts');
  expect(sources.filter((source) => /^\.\.\/(local|test|ui)\//.test(source))).toEqual([]);
});

test('is the same bundle in another folder', async () => {
  const other = join(out, 'some', 'other', 'dist');
  await bundleApp(other);
  expect(contentOf(other)).toEqual(contentOf(join(folder, 'dist')));
});

function contentOf(dist: string): Record<string, string> {
  const names = readdirSync(dist).filter((name) => name !== 'ui');
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dist, name), 'utf8')]));
}

test('requires the Node version that these tests and infra/ use', () => {
  const [major] = process.versions.node.split('.');
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ engines: { node: `>=${major}` } });
  const functionApp = new URL('../infra/modules/functionApp.bicep', import.meta.url);
  expect(readFileSync(functionApp, 'utf8')).toContain(`version: '${major}'`);
});

/** Loads the app with these settings, without a host, and returns what it prints. */
async function loadApp(app: string, env: Record<string, string>, before = ''): Promise<string> {
  const code = `console.warn = () => {}; ${before}; await import('./dist/main.js'); process.exit()`;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', code],
    { cwd: app, env: { PATH: process.env.PATH, ...env } },
  );
  return stdout + stderr;
}

/** Of services that are not there. */
const settings = {
  AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  Cosmos: 'AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5',
  ServiceBus:
    'Endpoint=sb://127.0.0.1;SharedAccessKeyName=name;SharedAccessKey=key;UseDevelopmentEmulator=true',
  STRIPE_SECRET_KEY: 'sk_test_1',
  PAYMENT_RATE: '25',
};

const missing = (setting: string, client: string) =>
  `A setting is missing or wrong:\n  ${setting}: needs the npm package "${client}", which is not installed: npm install --save-prod ${client}\n`;

test.each([
  ['LOCKS', 'redis://127.0.0.1:1', '@redis/client'],
  ['LOCKS', 'postgres://127.0.0.1:1/locks', 'pg'],
  ['LOCKS', 'postgres-advisory://127.0.0.1:1/locks', 'pg'],
  ['LOCKS', 'mysql://127.0.0.1:1/locks', 'mysql2'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1', '@opentelemetry/exporter-trace-otlp-http'],
])('names the client that %s=%s needs and that is not in it', async (setting, value, client) => {
  expect(await loadApp(folder, { ...settings, [setting]: value })).toBe(missing(setting, client));
});

test.each([
  ['LOCKS', 'cosmos'],
  ['LOCKS', 'service-bus'],
  ['LOCKS', 'etcd://127.0.0.1:1'],
  ['LOCKS', 'zookeeper://127.0.0.1:1'],
  ['LOCKS', 'etcd://127.0.0.1:1 etcd://127.0.0.1:2 etcd://127.0.0.1:3'],
  ['APPLICATIONINSIGHTS_AUTHENTICATION_STRING', 'Authorization=AAD'],
])('has what %s=%s needs', async (setting, value) => {
  const telemetry = 'InstrumentationKey=00000000-0000-0000-0000-000000000000';
  const env = { ...settings, APPLICATIONINSIGHTS_CONNECTION_STRING: telemetry, [setting]: value };
  expect(await loadApp(folder, env)).toBe('');
});

test('loads no store of locks that LOCKS does not name', async () => {
  const app = join(out, 'without-stores');
  cpSync(folder, app, { recursive: true, filter: (path) => !/\w+LockStore\.js$/.test(path) });
  expect(await loadApp(app, settings)).toBe('');
  await expect(loadApp(app, { ...settings, LOCKS: 'cosmos' })).rejects.toThrow('cosmosLockStore.js');
});

test('contains the clients of stores that it was asked for', async () => {
  const app = join(out, 'with-clients');
  mkdirSync(app);
  cpSync(join(folder, 'package.json'), join(app, 'package.json'));
  cpSync(join(folder, 'host.json'), join(app, 'host.json'));
  await bundleApp(join(app, 'dist'), productionWith(['@redis/client', 'pg', 'mysql2']));
  for (const locks of ['redis://127.0.0.1:1', 'postgres://127.0.0.1:1/locks', 'mysql://127.0.0.1:1/locks'])
    expect(await loadApp(app, { ...settings, LOCKS: locks })).toBe('');
});

test('a store that has no client to add is named with those that have', async () => {
  const packing = promisify(execFile)(process.execPath, [script('package.ts'), '--locks', 'redis,etcd']);
  await expect(packing).rejects.toMatchObject({
    code: 2,
    stderr: '--locks: expected one or several of redis, postgres, mysql, not "redis,etcd"\n',
  });
});

test('stack traces name the lines of the sources', async () => {
  const stack = await loadApp(folder, {}, 'console.error = () => console.log(new Error().stack)');
  const [, path = '', line] = /at start \(\S*\/package\/(src\/payonce\.ts):(\d+):\d+\)/.exec(stack) ?? [];
  const source = readFileSync(resolve(root, path), 'utf8').split('\n')[Number(line) - 1];
  expect(source).toContain('console.error(error.message)');
});

test('the zip contains the same files', () => {
  const entries = Object.keys(unzipSync(readFileSync(join(out, 'payonce.zip'))));
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(entries).toHaveLength(files.length);
  expect(entries).toEqual(expect.arrayContaining(['host.json', 'package.json', 'dist/main.js']));
});

test('azd and the Core Tools upload all of it: it has no links, and .funcignore leaves no file out', async () => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  expect(entries.filter((entry) => !entry.isFile() && !entry.isDirectory())).toEqual([]);
  // azd's `dist` is this folder, and Git reads such patterns as azd does.
  const repository = mkdtempSync(join(tmpdir(), 'payonce-ignored-'));
  cpSync(join(root, '.funcignore'), join(repository, '.gitignore'));
  spawnSync('git', ['init', '--quiet'], { cwd: repository });
  const input = [...filesUnder(folder), 'src/app.ts'].join('\n');
  const args = ['check-ignore', '--no-index', '--stdin'];
  const { stdout } = spawnSync('git', args, { cwd: repository, input, encoding: 'utf8' });
  await removeFolder(repository);
  expect(stdout).toBe('src/app.ts\n');
});

test('without a payment key every function is there, and health says what is missing; with the key the app pays', async () => {
  await using cloud = await startLocalCloud();
  const { STRIPE_SECRET_KEY = '', ...others } = settingsFor(cloud);
  const env = { ...others, INVOICE_SCHEDULE: '*/2 * * * * *', OUTBOX_SCHEDULE: '*/2 * * * * *' };
  const functionsOf = (host: { lines: string[] }) =>
    host.lines.filter((line) => /^ {2}\w+: \w+$/.test(line)).toSorted();
  await using fromSources = await startHostProcess({ app: root, env: { ...env, STRIPE_SECRET_KEY: '' } });
  const indexed = functionsOf(fromSources);
  expect(indexed.length).toBeGreaterThan(30);
  fromSources.kill('SIGKILL');
  /** As the platform leaves the setting while the vault has no such secret. */
  const unresolved = '@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/stripe-secret-key/)';
  await sendOneOfEach(cloud);
  {
    await using host = await startHostProcess({
      app: folder,
      env: { ...env, STRIPE_SECRET_KEY: unresolved },
    });
    expect(functionsOf(host)).toEqual(indexed);
    const health = await fetch(`${host.address}/api/ops/health`);
    expect(health.status).toBe(503);
    expect(await health.text()).toContain('STRIPE_SECRET_KEY: is an unresolved Key Vault reference');
    for (const timer of ['processInvoices', 'sweepOutbox', 'trackPayments'])
      await host.line(new RegExp(`error ${timer} .*waitingFor`));
    // Nothing is lost: a payment command becomes a dead letter, and a work item comes to the poison queue.
    await until(
      () => waitingIn(cloud),
      ({ deadLettered }) => deadLettered === 1,
    );
    expect((await waitingIn(cloud)).items).toBe(1);
  }
  // The first host was killed with the lease of its timers, which this one need not wait for.
  const args = ['--no-timer-singleton'];
  await using host = await startHostProcess({ app: folder, env: { ...env, STRIPE_SECRET_KEY }, args });
  expect(functionsOf(host)).toEqual(indexed);
  const command = [script('payOne.ts'), '--address', `${host.address}/api`];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  expect(stdout).toMatch(/: paid\n$/);
}, 120_000);

/** A payment command and a work item, before any host is there. */
async function sendOneOfEach({ serviceBus, queues }: LocalCloud): Promise<void> {
  const client = new ServiceBusClient(serviceBus);
  await client.createSender('payment-commands').sendMessages({ messageId: 'b1', body: { batchId: 'b1' } });
  await client.close();
  const item = JSON.stringify({ resourceId: 'i1', stage: 'receipt', input: {} });
  await queues.getQueueClient('work-items').sendMessage(Buffer.from(item).toString('base64'));
}

/** Counts the dead letters of the one queue, and the messages of the other and of its poison queue. */
async function waitingIn({ serviceBusLocal, queues }: LocalCloud) {
  const answer = await fetch(`${serviceBusLocal}/_local/stats`);
  const stats = z.object({ queues: z.record(z.string(), z.record(z.string(), z.number())) });
  const { deadLettered } = stats.parse(await answer.json()).queues['payment-commands'] ?? {};
  const counts = ['work-items', 'work-items-poison'].map((name) =>
    queues.getQueueClient(name).getProperties(),
  );
  const items = (await Promise.all(counts)).reduce(
    (sum, one) => sum + (one.approximateMessagesCount ?? 0),
    0,
  );
  return { deadLettered, items };
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
    expect(host.lines).toContain('loaded dist/main.js');
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
