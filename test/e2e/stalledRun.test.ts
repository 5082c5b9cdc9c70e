import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Child, startChild } from '../../local/start/child.ts';
import { addUp, type InvoiceFigure, isSettled, readFigures } from '../../local/start/figures.ts';
import { type RunRecord, runRecordSchema } from '../../packages/jobs/src/runs/runRecord.ts';
import { systemClock as clock } from '../../packages/leases/src/clock.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { importRows } from '../support/importing.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { noSignals, signalTree } from '../support/signals.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-stalled-'));
const shards = 2;
let cloud: LocalCloud;
let hosts: { child: Child; address: string }[] = [];

beforeAll(async () => {
  // A message received by the stopped host should come back soon.
  const config = readFileSync('local/serviceBusConfig.json', 'utf8').replace('PT1M', 'PT10S');
  writeFileSync(join(folder, 'Config.json'), config);
  cloud = await startLocalCloud({ serviceBusConfig: join(folder, 'Config.json') });
  const envFile = join(folder, 'env');
  const settings = {
    ...settingsFor(cloud),
    SHARDS: `${shards}`,
    SHARD_GROUPS: '1',
    BATCH_SIZE: '5',
    LEASE_SECONDS: '15',
    INVOICE_SCHEDULE: '0 0 0 1 1 *',
    OUTBOX_SCHEDULE: '0 0 0 1 1 *',
  };
  writeFileSync(
    envFile,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const ports = await freePorts(2);
  hosts = await Promise.all(
    ports.map(async (port, index) => {
      const args = [
        'packages/local-azure/src/functionsHost/main.ts',
        '--port',
        `${port}`,
        '--env-file',
        envFile,
        '--no-timer-singleton',
      ];
      const name = ['host-a', 'host-b'][index] ?? '';
      const child = await startChild(name, args, {
        env: { INSTANCE_ID: name },
        logFile: join(folder, `${name}.log`),
      });
      return { child, address: `http://127.0.0.1:${port}` };
    }),
  );
}, 90_000);

afterAll(async () => {
  for (const { child } of hosts) signalTree(child.process, 'SIGCONT');
  await Promise.all(hosts.map(({ child }) => child.stop(5_000)));
  await cloud[Symbol.asyncDispose]();
  await removeFolder(folder);
}, 60_000);

/** Runs the timer's function now. */
async function tick(address: string): Promise<void> {
  const url = `${address}/admin/functions/processInvoices`;
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(url, { method: 'POST', headers, body: '{"input":""}' })).status).toBe(202);
}

const figures = () => readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments });

function claimsBy(name: string, invoices: readonly InvoiceFigure[]): string[] {
  const entries = invoices.flatMap(({ timeline }) =>
    timeline.filter(({ what, by }) => what === 'claimed' && by === name),
  );
  return entries.map((entry) => ('at' in entry ? String(entry.at) : ''));
}

/** The records of this instance's runs, oldest first. */
async function recordsOf(name: string): Promise<RunRecord[]> {
  const runs = cloud.cosmosClient.database('payonce').container('runs');
  const { resources } = await runs.items.query('SELECT * FROM c ORDER BY c.startedAt').fetchAll();
  return resources.map((run) => runRecordSchema.parse(run)).filter(({ lockOwner }) => lockOwner === name);
}

test.skipIf(noSignals)(
  'a run that stalls for longer than its lease does nothing after it wakes up',
  {
    timeout: 150_000,
  },
  async () => {
    const [a, b] = hosts;
    if (a === undefined || b === undefined) throw new Error('two hosts are needed');
    const container = cloud.cosmosClient.database('payonce').container('invoices');
    const rows = Array.from({ length: 120 }, (_, index) => ({
      index,
      invoice: {
        id: `stalled-${index}`,
        customerId: 'cus_1',
        amountMinor: 100 + index,
        currency: 'USD',
        dueAt: '2025-01-01T00:00:00.000Z',
        paymentMethod: 'pm_card_visa',
      },
    }));
    await importRows(cosmosInvoiceStore(container, { clock, shards }), rows, 'test');
    const faults = new URL('/_local/faults', /AccountEndpoint=([^;]+)/.exec(cloud.cosmos)?.[1]);
    const slow = { kind: 'delay', count: 10_000, delayMs: 300, filter: { operation: 'batch' } };
    await fetch(faults, {
      method: 'POST',
      body: JSON.stringify(slow),
      headers: { 'content-type': 'application/json' },
    });

    const sent = async () => {
      const stats = z.object({ queues: z.object({ 'payment-commands': z.object({ sent: z.number() }) }) });
      const { queues } = stats.parse(await (await fetch(`${cloud.serviceBusLocal}/_local/stats`)).json());
      return queues['payment-commands'].sent;
    };

    await tick(a.address);
    // Not while it sends, since what is in flight arrives: its next claim takes 300 ms.
    await until(sent, (count) => count > 0);
    signalTree(a.child.process, 'SIGSTOP');
    const stoppedAt = new Date().toISOString();

    // The other instance gets the lease once it has expired, and does the rest.
    await fetch(faults, { method: 'DELETE' });
    await until(
      async () => {
        await tick(b.address);
        return figures();
      },
      ({ invoices }) => invoices.every(({ status }) => status !== 'pending'),
      { withinMs: 100_000 },
    );
    // Its last claims are written before their message is sent.
    await until(
      () => recordsOf('host-b'),
      (runs) => runs.every(({ status }) => status !== 'running'),
    );
    const before = {
      claims: claimsBy('host-a', (await figures()).invoices).length,
      sent: await sent(),
    };

    signalTree(a.child.process, 'SIGCONT');
    const [record] = await until(
      () => recordsOf('host-a'),
      ([run]) => run !== undefined && run.status !== 'running',
    );
    expect(record).toMatchObject({
      status: 'failed',
      groups: { '0': { status: 'lost', lockOwner: 'host-a' } },
    });
    expect(record?.reason).toMatch(/^lost: .*(lease|fence)/);

    const claims = claimsBy('host-a', (await figures()).invoices);
    expect(claims.length).toBe(before.claims);
    // A transaction in flight when the host stopped may carry a slightly earlier time, never a later one.
    expect(claims.filter((at) => at > stoppedAt)).toEqual([]);
    expect(claims.length).toBeLessThan(120);
    // Claims that the stalled run had not sent wait for the sweeper.
    expect(await sent()).toBe(before.sent);

    const settled = await until(
      async () => {
        await fetch(`${b.address}/admin/functions/sweepOutbox`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"input":""}',
        });
        return figures();
      },
      (now) => isSettled(now, Date.now()) && now.invoices.every(({ status }) => status === 'paid'),
      { withinMs: 100_000 },
    );
    expect(addUp(settled)).toMatchObject({ problems: [], chargedTwice: 0 });
  },
);
