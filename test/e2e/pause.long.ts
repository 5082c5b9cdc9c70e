import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addUp, readFigures } from '../../local/start/figures.ts';
import { pausedWithinMs } from '../../packages/jobs/src/rate/pause.ts';
import { systemClock as clock } from '../../packages/leases/src/clock.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { addAll } from '../support/importing.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { until } from '../support/until.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
const shards = 4;
const invoices = 600;
let cloud: LocalCloud;
let hosts: HostProcess[] = [];

beforeAll(async () => {
  cloud = await startLocalCloud();
  const container = cloud.cosmosClient.database('payonce').container('invoices');
  const contents = Array.from({ length: invoices }, (_, index) => ({
    id: `paused-${index}`,
    customerId: `cus_${index % 7}`,
    amountMinor: 100 + index,
    currency: 'USD',
    dueAt: '2025-01-01T00:00:00.000Z',
    paymentMethod: 'pm_card_visa',
  }));
  await addAll(cosmosInvoiceStore(container, { clock, shards }), contents, { by: 'test', withinMs: 60_000 });
  hosts = await startHosts(1);
}, 120_000);

afterAll(async () => {
  await Promise.all(hosts.map((host) => host[Symbol.asyncDispose]()));
  await cloud[Symbol.asyncDispose]();
}, 60_000);

/** Three hosts that look for due invoices every two seconds, and share 15 charges a second. */
function startHosts(generation: number): Promise<HostProcess[]> {
  return Promise.all(
    ['a', 'b', 'c'].map((name) =>
      startHostProcess({
        app,
        args: ['--no-timer-singleton'],
        env: {
          ...settingsFor(cloud),
          INSTANCE_ID: `host-${name}${generation}`,
          SHARDS: `${shards}`,
          SHARD_GROUPS: '2',
          BATCH_SIZE: '10',
          PAYMENT_RATE: '15',
          INVOICE_SCHEDULE: '*/2 * * * * *',
          OUTBOX_SCHEDULE: '*/2 * * * * *',
        },
      }),
    ),
  );
}

const figures = () => readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments });
const charged = async () => (await figures()).charges.length;

async function post(host: HostProcess | undefined, route: string, body: unknown) {
  const response = await fetch(`${host?.address}/api/ops/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

async function get(host: HostProcess | undefined, route: string) {
  return (await (await fetch(`${host?.address}/api/ops/${route}`)).json()) as Record<string, unknown>;
}

test('three busy hosts pause within ten seconds, stay paused through a restart of all, and resume with one call', async () => {
  await until(charged, (count) => count >= 60, { withinMs: 100_000 });
  await post(hosts[0], 'pause', { reason: 'a fire drill' });
  const holdsFrom = Date.now() + pausedWithinMs;

  // Claimed invoices become pending again: nothing grows stale while payments are paused.
  await until(figures, (now) => now.invoices.every(({ status }) => status !== 'claimed'), {
    withinMs: 100_000,
  });
  await until(
    async () => Date.now(),
    (now) => now > holdsFrom,
  );
  const before = await figures();
  const { length } = before.charges;
  expect(length).toBeLessThan(invoices / 2);

  await Promise.all(hosts.map((host) => host[Symbol.asyncDispose]()));
  hosts = await startHosts(2);
  // Several ticks of the timer.
  const restarted = Date.now();
  await until(
    async () => Date.now() - restarted,
    (ms) => ms > 8_000,
  );
  for (const host of hosts) {
    expect(await get(host, 'health')).toMatchObject({
      status: 'ok',
      paused: { reason: 'a fire drill', by: 'function key', until: null },
    });
    expect(await get(host, 'summary')).toMatchObject({
      paused: { reason: 'a fire drill' },
      invoices: { claimed: 0, paid: length, pending: invoices - length },
    });
  }
  const after = await figures();
  expect(after.charges).toHaveLength(length);
  const late = [
    ...after.charges.map(({ createdAt = '' }) => createdAt),
    ...after.invoices.flatMap(({ timeline }) =>
      timeline.flatMap((entry) => (entry.what === 'claimed' && 'at' in entry ? [String(entry.at)] : [])),
    ),
  ].filter((at) => Date.parse(at) > holdsFrom);
  expect(late).toEqual([]);

  expect(await post(hosts[1], 'resume', {})).toMatchObject({ resumed: true, paused: null });
  await until(figures, (now) => now.invoices.every(({ status }) => status === 'paid'), {
    withinMs: 150_000,
  });
  expect(addUp(await figures())).toMatchObject({ problems: [], chargedTwice: 0 });
  const attempts = cloud.cosmosClient.database('payonce').container('invoices').items;
  const { resources } = await attempts
    .query<number>(`SELECT VALUE MAX(c.attempts) FROM c WHERE c.type = 'invoice'`)
    .fetchAll();
  expect(resources).toEqual([1]);
}, 300_000);
