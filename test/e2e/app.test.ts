// The app over HTTP, as its callers see it. By default the tests start a local cloud and two hosts. With
// PAYONCE_E2E_HOST they use a running host instead, such as the real Functions host:
//   PAYONCE_E2E_HOST=http://127.0.0.1:7071 PAYONCE_E2E_PAYMENTS=http://127.0.0.1:12111 npx vitest run test/e2e/app.test.ts
// PAYONCE_E2E_PAYMENTS is the address of that host's payment stand-in. Its timer must not claim during the tests
// (INVOICE_SCHEDULE=0 0 0 1 1 *). If the host requires a key, put it into FUNCTIONS_KEY.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Child, startChild } from '../../local/start/child.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { noSettings } from '../support/functionsHostProcess.ts';
import { isFull } from '../support/onlyInFull.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { runProgram } from '../support/runProgram.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-app-'));
const children: Child[] = [];
let api = '';
let charges = '';
const { PAYONCE_E2E_HOST: running, PAYONCE_E2E_PAYMENTS: payments, FUNCTIONS_KEY: runningKey } = process.env;
const ownKey = 'test-master-key';
const key: Record<string, string> =
  running === undefined
    ? { 'x-functions-key': ownKey }
    : runningKey === undefined
      ? {}
      : { 'x-functions-key': runningKey };

beforeAll(async () => {
  if (running !== undefined) {
    if (payments === undefined)
      throw new Error("PAYONCE_E2E_PAYMENTS: expected the address of the host's payment stand-in");
    api = `${running}/api/ops`;
    charges = `${payments}/_local/charges`;
    return;
  }
  const envFile = join(folder, 'env');
  children.push(
    await startChild('cloud', ['local/cloud.ts', '--env-file', envFile], {
      logFile: join(folder, 'cloud.log'),
    }),
  );
  const ports = await freePorts(2);
  const hosts = ports.map((port, index) =>
    startChild(
      `host-${index}`,
      [
        'packages/local-azure/src/functionsHost/main.ts',
        '--port',
        `${port}`,
        '--env-file',
        envFile,
        '--enable-auth',
        '--no-timer-singleton',
      ],
      {
        env: {
          INSTANCE_ID: `host-${index}`,
          FUNCTIONS_MASTER_KEY: ownKey,
          INVOICE_SCHEDULE: '0 0 0 1 1 *',
          OUTBOX_SCHEDULE: '*/5 * * * * *',
        },
        logFile: join(folder, `host-${index}.log`),
      },
    ),
  );
  children.push(...(await Promise.all(hosts)));
  api = `http://127.0.0.1:${ports[0]}/api/ops`;
  const ownPayments = /^STRIPE_API_BASE=(.*)$/m.exec(readFileSync(envFile, 'utf8'))?.[1];
  charges = `${ownPayments}/_local/charges`;
}, 90_000);

afterAll(async () => {
  await Promise.all(children.toReversed().map((child) => child.stop(5_000)));
  await removeFolder(folder);
}, 60_000);

/** Makes ids unique: a running host's store may hold those of earlier runs. */
const mark = randomUUID().slice(0, 8);
const unique = (name: string) => `${name}-${mark}`;

function invoice(id: string, changes: Record<string, unknown> = {}) {
  const dueAt = '2025-01-01T00:00:00Z';
  return {
    id,
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt,
    paymentMethod: 'pm_card_visa',
    ...changes,
  };
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${api}/${path}`, {
    method: 'POST',
    headers: { ...key, 'content-type': 'application/json', ...headers },
    body: text,
  });
}

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${api}/${path}`, { headers: key });
  return z.record(z.string(), z.unknown()).parse(await response.json());
}

describe('bad input', () => {
  // On a developer's machine the real host does not ask for keys.
  test.skipIf(running !== undefined)('a call without a key is refused', async () => {
    expect((await fetch(`${api}/summary`)).status).toBe(401);
  });

  test('each bad row is named, the good ones are stored', async () => {
    const rows = [
      invoice(unique('bad-0')),
      invoice(unique('bad-1'), { amountMinor: 19.99 }),
      invoice(unique('bad-2'), { currency: 'XXQ' }),
      invoice(unique('bad-3'), { amountMinor: -5 }),
      invoice('bad/4'),
      invoice(unique('bad-0')),
      invoice(unique('bad-0'), { amountMinor: 555 }),
      'not a row',
    ];
    const response = await post('invoices', rows);
    expect(response.status).toBe(200);
    const answer = z.object({
      created: z.number(),
      duplicates: z.number(),
      rejected: z.array(z.object({ index: z.number(), field: z.string(), error: z.string() })),
    });
    const { created, duplicates, rejected } = answer.parse(await response.json());
    expect({ created, duplicates }).toEqual({ created: 1, duplicates: 1 });
    expect(rejected.map(({ index, field }) => [index, field])).toEqual([
      [1, 'amountMinor'],
      [2, 'currency'],
      [3, 'amountMinor'],
      [4, 'id'],
      [6, 'id'],
      [7, 'row'],
    ]);
    const again = answer.parse(
      await (
        await post('invoices', [invoice(unique('bad-0')), invoice(unique('bad-0'), { amountMinor: 777 })])
      ).json(),
    );
    expect(again).toMatchObject({ created: 0, duplicates: 1, rejected: [{ index: 1, field: 'id' }] });
  });

  test('CSV with a BOM, quotes and CRLF', async () => {
    const csv =
      '\uFEFFid,customerId,amount,currency,dueAt,paymentMethod,description\r\n' +
      `"${unique('csv-1')}",cus_1,"19.99",USD,2099-01-01T00:00:00Z,pm_card_visa,"Paper, ""A4"""\r\n` +
      `${unique('csv-2')},cus_1,500,JPY,2099-01-01T00:00:00Z,pm_card_visa,\r\n`;
    const response = await post('invoices', csv, { 'content-type': 'text/csv' });
    expect(await response.json()).toMatchObject({ created: 2, duplicates: 0, rejected: [] });
    expect(await get(`invoices/${unique('csv-1')}`)).toMatchObject({
      amountMinor: 1999,
      description: 'Paper, "A4"',
      status: 'pending',
    });
    expect(await get(`invoices/${unique('csv-2')}`)).toMatchObject({ amountMinor: 500, currency: 'JPY' });
  });

  test('broken JSON is refused with its position', async () => {
    const response = await post('invoices', '[{"id": "x",}]');
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.stringify(await response.json())).toMatch(/line 1|position|column/);
  });

  test.runIf(isFull || running !== undefined)('a 10 MB body is stored', { timeout: 60_000 }, async () => {
    const rows = Array.from({ length: 40_000 }, (_, n) =>
      invoice(unique(`large-${n}`), { dueAt: '2099-01-01T00:00:00Z', description: 'x'.repeat(110) }),
    );
    const body = JSON.stringify(rows);
    expect(body.length).toBeGreaterThan(10_000_000);
    expect(await (await post('invoices', body)).json()).toMatchObject({
      created: 40_000,
      duplicates: 0,
      rejectedCount: 0,
    });
  });

  test('an unknown invoice, status, run or property is refused', async () => {
    expect((await fetch(`${api}/invoices/nobody`, { headers: key })).status).toBe(404);
    expect((await fetch(`${api}/runs/nobody`, { headers: key })).status).toBe(404);
    const response = await fetch(`${api}/invoices?status=payed`, { headers: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field: 'status' }] });
    const run = await post('runs', { job: 'process-invoices', dryrun: true });
    expect(run.status).toBe(400);
  });
});

// The real host polls its orchestration queues less often than the local one.
describe('a manual run', { timeout: running === undefined ? 90_000 : 300_000 }, () => {
  const runView = z.object({
    runId: z.string(),
    status: z.string(),
    dryRun: z.boolean(),
    counts: z.record(z.string(), z.number()),
    lockOwner: z.string().nullable(),
  });
  const ended = async (runId: string) =>
    until(
      async () => runView.parse(await get(`runs/${runId}`)),
      ({ status }) => status !== 'running',
      { withinMs: running === undefined ? 50_000 : 200_000 },
    );
  const started = async (response: Response) =>
    z.object({ runId: z.string() }).parse(await response.json()).runId;

  test('a dry run counts and writes nothing; a real run pays; an idempotency key starts it once', async () => {
    await post('invoices', [
      invoice(unique('run-1')),
      invoice(unique('run-2'), { paymentMethod: 'pm_card_chargeDeclinedExpiredCard' }),
    ]);
    const dry = await post('runs', { job: 'process-invoices', dryRun: true });
    expect(dry.status).toBe(202);
    const planned = await ended(await started(dry));
    expect(planned).toMatchObject({ status: 'completed', dryRun: true });
    expect(planned.counts.claimed).toBeGreaterThanOrEqual(2);
    expect(await get(`invoices/${unique('run-1')}`)).toMatchObject({ status: 'pending', claim: null });

    const idempotent = { 'Idempotency-Key': unique('run-of-the-day') };
    const [first, second] = await Promise.all([
      post('runs', { job: 'process-invoices' }, idempotent),
      post('runs', { job: 'process-invoices' }, idempotent),
    ]);
    expect(first.headers.get('location')).toMatch(/^\/api\/ops\/runs\/[0-9a-f]+$/);
    const runId = await started(first);
    expect(await started(second)).toBe(runId);
    const other = await post('runs', { job: 'process-invoices', dryRun: true }, idempotent);
    expect(other.status).toBe(409);

    const done = await ended(runId);
    expect(done).toMatchObject({ status: 'completed', dryRun: false });
    const paid = await until(
      () => get(`invoices/${unique('run-1')}`),
      ({ status }) => status === 'paid',
    );
    expect(paid).toMatchObject({ payment: { id: expect.stringMatching(/^pi_/) } });
    expect(
      z
        .array(z.object({ what: z.string() }))
        .parse(paid.timeline)
        .map(({ what }) => what),
    ).toEqual(['imported', 'claimed', 'paid']);
    await until(
      () => get(`invoices/${unique('run-2')}`),
      ({ status }) => status === 'declined',
    );
    const ledger = z.array(z.object({ invoiceId: z.string() })).parse(await (await fetch(charges)).json());
    expect(ledger.filter(({ invoiceId }) => invoiceId === unique('run-1'))).toHaveLength(1);
    expect(ledger.filter(({ invoiceId }) => invoiceId === unique('run-2'))).toHaveLength(0);
    // Invoices of the tests before may still be in flight.
    const figures = z.object({ invoices: z.object({ claimed: z.number() }) });
    const summary = await until(
      () => get('summary'),
      (found) => figures.parse(found).invoices.claimed === 0,
    );
    expect(summary).toMatchObject({ invoices: { parked: 0 }, staleClaims: 0 });
    expect(await get('health')).toMatchObject({ status: 'ok' });
  });
});

test('a host with bad settings does not start and names every one', async () => {
  const env = { PATH: process.env.PATH ?? '', SHARDS: '0', INVOICE_SCHEDULE: 'daily' };
  const args = ['--port', '0', '--env-file', noSettings];
  const { code, output } = await runProgram('packages/local-azure/src/functionsHost/main.ts', args, env);
  expect(code).not.toBe(0);
  for (const name of [
    'AzureWebJobsStorage',
    'Cosmos',
    'ServiceBus',
    'STRIPE_SECRET_KEY',
    'SHARDS',
    'INVOICE_SCHEDULE',
  ]) {
    expect(output).toContain(name);
  }
});
