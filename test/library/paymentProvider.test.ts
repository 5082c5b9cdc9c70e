import { cpSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../local/freePorts.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { runProgram } from '../support/runProgram.ts';
import { startAcmePay } from './acmePay.ts';
import { projectIn } from './emptyProject.ts';
import { readPage } from './page.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readPage('docs/guides/payment-provider.md');
const providerFile = 'src/paying/acmeProvider.ts';
const stack = new AsyncDisposableStack();
let acme: Awaited<ReturnType<typeof startAcmePay>>;
let app: ReturnType<typeof projectIn>;

/** A clone of the app with the files of the guide. */
beforeAll(async () => {
  acme = stack.use(await startAcmePay());
  const folder = mkdtempSync(join(tmpdir(), 'payonce-clone-'));
  app = stack.use(projectIn(folder));
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
  for (const name of ['package.json', 'host.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(root, name), join(folder, name));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  app.write(page.files);
});
afterAll(() => stack.disposeAsync());

test('the guide has the provider and the file that hands it to the app', () => {
  expect([...page.files.keys()]).toEqual([providerFile, 'src/payonce.ts']);
});

test('the clone compiles', async () => {
  const { code, output } = await runProgram(join(root, 'node_modules/typescript/bin/tsc'), [
    '-p',
    join(app.folder, 'tsconfig.build.json'),
    '--noEmit',
  ]);
  expect(output).toBe('');
  expect(code).toBe(0);
}, 180_000);

test('the app pays through it', async () => {
  await using cloud = await startLocalCloud();
  const before = acme.paid().length;
  await app.run(fileURLToPath(new URL('payThroughGuide.ts', import.meta.url)), [app.folder], {
    ...settingsFor(cloud),
    ACME_URL: acme.url,
    ACME_KEY: 'acme-key',
  });
  expect(acme.paid().slice(before)).toMatchObject([{ invoice: 'inv-1', amount: 1999, currency: 'USD' }]);
  const { resources } = await cloud.cosmosClient
    .database(databaseName)
    .container(containers.invoices.name)
    .items.query<unknown>(`SELECT c.status, c.payment.id FROM c WHERE c.type = 'invoice'`)
    .fetchAll();
  expect(resources).toEqual([{ status: 'paid', id: acme.paid().at(-1)?.id }]);
}, 180_000);

describe('its outcomes', () => {
  const timeoutMs = 20_000;
  let provider: PaymentProvider;
  let keys = 0;
  beforeAll(async () => {
    const { acmeProvider } = (await import(pathToFileURL(join(app.folder, providerFile)).href)) as {
      acmeProvider: (options: { baseUrl: string; apiKey: string; timeoutMs: number }) => PaymentProvider;
    };
    provider = acmeProvider({ baseUrl: acme.url, apiKey: 'acme-key', timeoutMs });
    const [closedPort] = await freePorts(1);
    refused = acmeProvider({ baseUrl: `http://127.0.0.1:${closedPort}`, apiKey: 'acme-key', timeoutMs });
    keyless = acmeProvider({ baseUrl: acme.url, apiKey: '', timeoutMs });
    impatient = acmeProvider({ baseUrl: acme.url, apiKey: 'acme-key', timeoutMs: 2_000 });
  });
  let refused: PaymentProvider;
  let keyless: PaymentProvider;
  let impatient: PaymentProvider;

  const request = (paymentMethod = 'card', idempotencyKey = `key-${++keys}`) => ({
    invoiceId: idempotencyKey,
    amountMinor: 500,
    currency: 'JPY',
    customerId: 'cus_1',
    paymentMethod,
    idempotencyKey,
  });

  test('paid, declined, blocked', async () => {
    expect(await provider.charge(request())).toMatchObject({ kind: 'succeeded' });
    const soft = { kind: 'declined', severity: 'soft' };
    expect(await provider.charge(request('card-declined'))).toMatchObject(soft);
    expect(await provider.charge(request('card-blocked'))).toMatchObject({ ...soft, severity: 'hard' });
  });

  test.each(['silent', 'nonsense', 500] as const)('%s: unknown, and the same key tells', async (mood) => {
    const asked = request();
    acme.mood = mood;
    expect(await impatient.charge(asked)).toMatchObject({ kind: 'unknown' });
    acme.mood = 'normal';
    const charges = acme.paid().filter(({ invoice }) => invoice === asked.invoiceId).length;
    expect(charges).toBe(mood === 500 ? 0 : 1);
    expect(await provider.charge(asked)).toMatchObject({ kind: 'succeeded' });
    expect(acme.paid().filter(({ invoice }) => invoice === asked.invoiceId)).toHaveLength(1);
  });

  test('no connection, or a wrong key: certainly not charged', async () => {
    expect(await refused.charge(request())).toMatchObject({ kind: 'transient', code: 'ECONNREFUSED' });
    expect(await keyless.charge(request())).toMatchObject({ kind: 'transient', code: 'key' });
  });

  test('too many calls, an impossible request, a key used before', async () => {
    acme.mood = 429;
    expect(await provider.charge(request())).toMatchObject({ kind: 'rateLimited' });
    expect(await provider.find(request())).toMatchObject({ kind: 'rateLimited' });
    acme.mood = 422;
    expect(await provider.charge(request())).toMatchObject({ kind: 'refused', code: '422' });
    acme.mood = 'normal';
    const asked = request();
    await provider.charge(asked);
    expect(await provider.charge({ ...asked, amountMinor: 501 })).toMatchObject({ kind: 'keyReused' });
  });

  test('finds a payment by its invoice', async () => {
    const asked = request();
    expect(await provider.find(asked)).toEqual({ kind: 'notFound' });
    await provider.charge(asked);
    expect(await provider.find(asked)).toMatchObject({ kind: 'found' });
    expect(await provider.find({ ...asked, amountMinor: 1 })).toMatchObject({ kind: 'differs' });
    expect(await refused.find(asked)).toMatchObject({ kind: 'unknown' });
  });
});
