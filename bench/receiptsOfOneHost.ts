import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { z } from 'zod';
import { startChild } from '../local/start/child.ts';
import { freePorts } from '../packages/local-azure/src/freePorts.ts';
import { parseEnvFile } from '../packages/local-azure/src/functionsHost/settings.ts';
import { receiptFollowUp } from '../src/after/receipts.ts';
import { followUpsOf } from '../src/invoice/followUps.ts';
import { type AzureClients, azureClients } from '../src/platform/azureClients.ts';
import { blobContainers, queues } from '../src/platform/azureNames.ts';
import { readSettings } from '../src/settings/readSettings.ts';
import { newAccount } from './newAccount.ts';

/** Cost of writing some receipts: time, requests, and what came of it. */
export interface Figures {
  seconds: number;
  /** Receipts in the store. */
  written: number;
  /** Invoices whose receipt is recorded as done. */
  recorded: number;
  requests: { blob: number; queue: number; cosmos: number };
  /** Uploads per second that the same storage takes from this process, which does nothing else meanwhile. */
  bareUploads: number;
}

const perSettlement = 50;
/** Bare uploads at the same time, as many as the app's. */
const sideBySide = 16;
const warmUp = 500;
const pollMs = 50;
/** Milliseconds that the receipts may take. */
const patienceMs = 600_000;
const stopMs = 40_000;
const never = '0 0 0 29 2 *';

/**
 * Orders receipts in the outbox, as settlements of 50 invoices do, and lets one host of the checkout in `folder` do the rest:
 * its sweeper sends them, and its consumer writes and records them. The cloud is this checkout's. A warm-up comes first.
 */
export async function receiptsOfOneHost(folder: string, count: number): Promise<Figures> {
  await using running = new AsyncDisposableStack();
  const own = mkdtempSync(join(tmpdir(), 'payonce-receipts-'));
  running.defer(() => rmSync(own, { recursive: true, force: true }));
  const envFile = join(own, 'env');
  const countsFile = join(own, 'counts.json');
  const start = async (name: string, args: string[], env: Record<string, string>) => {
    const logFile = join(own, `${name}.log`);
    const child = await startChild(name, [...args, '--env-file', envFile], { env, logFile });
    running.defer(() => child.stop(stopMs));
  };
  await start('cloud', [join(import.meta.dirname, '../local/cloud.ts'), ...newAccount], {});
  const env = parseEnvFile(readFileSync(envFile, 'utf8'));
  const clients = azureClients(readSettings({ ...env, INSTANCE_ID: 'bench' }));
  running.defer(() => clients.close());
  const [port = 0] = await freePorts(1);
  const address = `http://127.0.0.1:${port}`;
  await start('host', [join(folder, 'packages/local-azure/src/functionsHost/main.ts'), '--port', `${port}`], {
    INSTANCE_ID: 'bench-host',
    INVOICE_SCHEDULE: never,
    OUTBOX_SCHEDULE: never,
    NODE_OPTIONS: `--import ${import.meta.resolve('./countRequests.ts')}`,
    REQUEST_COUNTS: countsFile,
  });
  const cosmosAddress = /AccountEndpoint=(http:\/\/[^/;]+)/.exec(env.Cosmos ?? '')?.[1] ?? '';
  const ports = portsOf(env.AzureWebJobsStorage ?? '');

  await order(clients, 'warm', warmUp);
  await sweepUntilDone();
  await order(clients, 'many', count);
  const before = await requests();
  const seconds = await sweepUntilDone();
  const after = await requests();
  return {
    seconds,
    written: await receiptsOf('many'),
    recorded: await recordedOf('many'),
    requests: {
      blob: after.blob - before.blob,
      queue: after.queue - before.queue,
      cosmos: after.cosmos - before.cosmos,
    },
    bareUploads: await bareUploads(),
  };

  async function bareUploads(): Promise<number> {
    const container = clients.blobs.getContainerClient(blobContainers.receipts);
    const receipt = JSON.stringify({ invoiceId: 'bare', paymentId: 'pi_bare', text: 'x'.repeat(120) });
    const limit = pLimit(sideBySide);
    const started = performance.now();
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        limit(() => container.getBlockBlobClient(`bare-${n}/pi.json`).upload(receipt, receipt.length)),
      ),
    );
    return count / ((performance.now() - started) / 1000);
  }

  /** Seconds until the queue of work items is empty. */
  async function sweepUntilDone(): Promise<number> {
    const queue = clients.queues.getQueueClient(queues.workItems);
    const started = performance.now();
    const swept = await fetch(`${address}/admin/functions/sweepOutbox`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"input":""}',
    });
    if (swept.status !== 202) throw new Error(`the sweeper answered ${swept.status}`);
    let filled = false;
    while (performance.now() - started < patienceMs) {
      const waiting = (await queue.getProperties()).approximateMessagesCount ?? 0;
      filled ||= waiting > 0;
      if (filled && waiting === 0 && (await undispatched(clients)) === 0) {
        return (performance.now() - started) / 1000;
      }
      await delay(pollMs);
    }
    throw new Error(`the receipts are not done after ${patienceMs / 1000} s; see ${own}`);
  }

  /** So far. What this process asks Cosmos in between is a handful. */
  async function requests(): Promise<Figures['requests']> {
    await delay(600);
    const counts = z.record(z.string(), z.number()).parse(JSON.parse(readFileSync(countsFile, 'utf8')));
    const stats = z.object({ requests: z.number() });
    const { requests: cosmos } = stats.parse(await (await fetch(`${cosmosAddress}/_local/stats`)).json());
    return { blob: counts[ports.blob] ?? 0, queue: counts[ports.queue] ?? 0, cosmos };
  }

  async function receiptsOf(prefix: string): Promise<number> {
    const found = clients.blobs
      .getContainerClient(blobContainers.receipts)
      .listBlobsFlat({ prefix: `${prefix}-` });
    return (await Array.fromAsync(found)).length;
  }

  async function recordedOf(prefix: string): Promise<number> {
    const one = z.object({ resourceId: z.string() });
    const schema = z.array(z.union([z.object({ effects: z.array(one) }), one]));
    const query = `SELECT c.resourceId, c.effects FROM c WHERE c.status = 'done'`;
    const { resources } = await clients.containers.workItems.items.query<unknown>(query).fetchAll();
    const done = schema.parse(resources).flatMap((found) => ('effects' in found ? found.effects : [found]));
    return done.filter(({ resourceId }) => resourceId.startsWith(`${prefix}-`)).length;
  }
}

/** Writes the outbox messages of settlements that paid these invoices, due now. */
async function order({ containers }: AzureClients, prefix: string, count: number): Promise<void> {
  const followUps = followUpsOf([receiptFollowUp]);
  const longAgo = Date.parse('2026-01-01T00:00:00Z');
  const paidAt = new Date(longAgo).toISOString();
  for (let from = 0; from < count; from += perSettlement) {
    const ended = Array.from({ length: Math.min(perSettlement, count - from) }, (_, n) => ({
      invoice: {
        invoiceId: `${prefix}-${from + n}`,
        customerId: `cus-${n}`,
        amountMinor: 100 + n,
        currency: 'USD',
        keyNumber: 1,
      },
      end: { kind: 'paid' as const, paymentId: `pi_${prefix}${from + n}`, paidAt },
    }));
    const shard = ((from / perSettlement) % 16).toString(16).padStart(2, '0');
    const transaction = { shard, occasion: `${prefix}-settlement-${from}`, now: longAgo };
    for (const message of followUps(ended, transaction)) await containers.invoices.items.create(message);
  }
}

async function undispatched({ containers }: AzureClients): Promise<number> {
  const query = `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'outboxMessage' AND c.status = 'pending'`;
  const { resources } = await containers.invoices.items.query<number>(query).fetchAll();
  return resources[0] ?? 0;
}

function portsOf(storage: string): { blob: string; queue: string } {
  const port = (service: string) =>
    new RegExp(`${service}Endpoint=http://[^:]+:(\\d+)`).exec(storage)?.[1] ?? '';
  return { blob: port('Blob'), queue: port('Queue') };
}
