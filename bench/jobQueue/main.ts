/**
 * A job queue with an idempotency key made from the invoice, beside payonce: pg-boss on PostgreSQL, each commit on disk, and the
 * same stand-in for Stripe. Invoices paid per second by one worker, then what becomes of them
 *
 * - when workers are killed while calls are in progress;
 * - when the provider charges, but no answer arrives until the retries are used up;
 * - when somebody retries those failed jobs a day later.
 *
 *   npm run bench -- job-queue
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { z } from 'zod';
import { type Child, startChild } from '../../local/start/child.ts';
import { startPayments } from '../../local/stripe/index.ts';
import { removeFolder } from '../../test/support/removeFolder.ts';
import { postgresPrograms, startPostgres } from '../../test/support/servers/postgres.ts';
import { readChargedTwice } from '../pace/chargedTwice.ts';
import { startPayingApp } from '../payingApp.ts';

const throughputInvoices = 10_000;
const hour = 3600 * 1000;
const stalledMs = 300_000;
const counted = z.tuple([z.object({ count: z.int() })]).transform(([{ count }]) => count);

if (postgresPrograms.postgres === undefined) {
  console.error('npm run bench -- job-queue: PostgreSQL is not installed');
  process.exit(2);
}

await using stack = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
stack.defer(() => removeFolder(folder));
const server = stack.use(await startPostgres({ fsync: 'on' }));
await server.run('create table invoices (id text primary key, payment text)');
const boss = new PgBoss(server.url);
stack.defer(() => boss.stop());
boss.on('error', console.error);
await boss.start();

await throughput();
await killedWorkers();
await lostAnswers();

async function throughput(): Promise<void> {
  await using world = await newWorld({ latencyMs: 0 });
  await world.enqueue(throughputInvoices);
  const started = performance.now();
  await world.startWorker();
  await reached(throughputInvoices, world.paid);
  const seconds = (performance.now() - started) / 1000;
  print('pg-boss, one worker', `${throughputInvoices} invoices in ${perSecond(seconds)}`);

  await using app = await startPayingApp();
  await app.importDue('many', throughputInvoices);
  await app.startHost();
  const payonce = await app.payDue(throughputInvoices);
  print('payonce, one host', `${throughputInvoices} invoices in ${perSecond(payonce.seconds)}`);
}

/** With a heartbeat, which pg-boss has not by default: without it the job of a killed worker waits for its 15 minutes. */
async function killedWorkers(): Promise<void> {
  const count = 1_000;
  await using world = await newWorld({ latencyMs: 400, heartbeatSeconds: 10 });
  await world.enqueue(count);
  let kills = 0;
  for (; kills < 5; kills++) {
    const worker = await world.startWorker();
    await delay(600);
    worker.process.kill('SIGKILL');
    await worker.exited;
  }
  const started = performance.now();
  await world.startWorker();
  await reached(count, world.paid);
  const seconds = Math.round((performance.now() - started) / 1000);
  const twice = await world.chargedTwice();
  print(`killed ${kills} times`, `${count} paid ${seconds} s after the last kill, charged twice ${twice}`);
}

async function lostAnswers(): Promise<void> {
  const count = 100;
  await using world = await newWorld({ latencyMs: 0 });
  await world.enqueue(count);
  await world.local('POST', 'faults', { kind: 'reset-after', count: 1_000_000 });
  const worker = await world.startWorker();
  await reached(count, async () => (await world.failed()).length);
  await world.local('DELETE', 'faults');
  print('no answer arrives', `${count} jobs have failed, ${await world.charges()} invoices are charged`);

  await worker.stop(0);
  await world.local('POST', 'clock', { advanceMs: 25 * hour });
  await boss.retry('payments', await world.failed());
  await world.startWorker();
  await reached(count, world.paid);
  print('retried a day later', `${count} paid, charged twice ${await world.chargedTwice()}`);
}

/** A provider with an empty ledger, and an empty queue. */
async function newWorld({ latencyMs, ...queue }: { latencyMs: number; heartbeatSeconds?: number }) {
  await using starting = new AsyncDisposableStack();
  const provider = starting.use(await startPayments({ latencyMs }));
  await server.run('truncate invoices');
  await boss.createQueue('payments', queue);
  starting.defer(() => boss.deleteQueue('payments'));
  const workers: Child[] = [];
  starting.defer(async () => void (await Promise.all(workers.map((worker) => worker.stop(10_000)))));
  const running = starting.move();

  async function local(method: string, path: string, body?: object): Promise<unknown> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${provider.baseUrl}/_local/${path}`, { method, ...sent });
    return response.status === 204 ? undefined : response.json();
  }
  return {
    local,
    async enqueue(count: number) {
      const ids = Array.from({ length: count }, (_, index) => `INV-${index}`);
      await server.run('insert into invoices (id) select unnest($1::text[])', [ids]);
      await boss.insert(
        'payments',
        ids.map((invoiceId) => ({ data: { invoiceId } })),
      );
    },
    async startWorker() {
      const { baseUrl, secretKey } = provider;
      const args = ['bench/jobQueue/worker.ts', server.url, baseUrl, secretKey];
      const worker = await startChild('worker', args, { logFile: join(folder, `${workers.length}.log`) });
      workers.push(worker);
      return worker;
    },
    paid: async () =>
      counted.parse(
        await server.run('select count(*)::int as count from invoices where payment is not null'),
      ),
    failed: async () =>
      (await boss.findJobs('payments')).filter(({ state }) => state === 'failed').map(({ id }) => id),
    charges: async () => z.object({ charges: z.int() }).parse(await local('GET', 'stats')).charges,
    chargedTwice: () => readChargedTwice(provider.baseUrl),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Waits until the number reaches `target`. @throws if it has not grown for five minutes */
async function reached(target: number, poll: () => Promise<number>): Promise<void> {
  let [best, grewAt] = [-1, performance.now()];
  for (;;) {
    const value = await poll();
    if (value >= target) return;
    if (value > best) [best, grewAt] = [value, performance.now()];
    if (performance.now() - grewAt > stalledMs) throw new Error(`stalled at ${value} of ${target}`);
    await delay(50);
  }
}

function perSecond(seconds: number): string {
  return `${seconds.toFixed(1)} s: ${(throughputInvoices / seconds).toFixed(0)} per second`;
}

function print(name: string, result: string): void {
  console.log(`${name.padEnd(20)} ${result}`);
}
