/**
 * Rows per second and memory of imports into one host: one body of 150,000 CSV rows, then a million in parts of 100,000. With
 * another checkout in turns, on a local cloud of this one.
 *
 *   npm run bench -- imports [--body N] [--rows N] [--part N] [--baseline DIR]
 *
 * The exit code is 1 if a row is missing, if memory grows from part to part, or if the other checkout is faster.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { startChild } from '../local/start/child.ts';
import { freePorts } from '../packages/local-azure/src/freePorts.ts';
import { newAccount } from './newAccount.ts';
import { residentMb } from './pace/memory.ts';

const { values } = parseArgs({
  options: {
    body: { type: 'string', default: '150000' },
    rows: { type: 'string', default: '1000000' },
    part: { type: 'string', default: '100000' },
    baseline: { type: 'string' },
  },
});
const [body = 0, rows = 0, part = 0] = [values.body, values.rows, values.part].map(Number);
if (![body, rows, part].every((count) => Number.isInteger(count) && count > 0)) {
  console.error('npm run bench -- imports [--body N] [--rows N] [--part N] [--baseline DIR]');
  process.exit(2);
}

/** Greatest allowed growth of memory, from the first third of the parts to the last: a factor. */
const mostGrowth = 1.25;
const stopMs = 40_000;
const never = '0 0 0 29 2 *';
const answerSchema = z.object({ created: z.number(), duplicates: z.number() });
const listSchema = z.object({ imports: z.array(z.object({ created: z.number(), status: z.string() })) });

const checkouts = [
  ...(values.baseline === undefined ? [] : [{ name: 'baseline', folder: resolve(values.baseline) }]),
  { name: 'this', folder: resolve(import.meta.dirname, '..') },
];
const rates = new Map<string, number>();
for (const { name, folder } of checkouts) rates.set(name, await measure(name, folder));
const [before, now] = ['baseline', 'this'].map((name) => rates.get(name));
if (before !== undefined && now !== undefined) {
  console.log(
    `ratio: ${(now / before).toFixed(2)} (${now.toFixed(0)} / ${before.toFixed(0)} rows per second)`,
  );
  if (now < before) process.exitCode = 1;
}

/** Rows per second of the parts. */
async function measure(name: string, folder: string): Promise<number> {
  await using running = new AsyncDisposableStack();
  const own = mkdtempSync(join(tmpdir(), 'payonce-imports-'));
  running.defer(() => rmSync(own, { recursive: true, force: true }));
  const envFile = join(own, 'env');
  const start = async (what: string, args: string[], env: Record<string, string> = {}) => {
    const child = await startChild(what, [...args, '--env-file', envFile], {
      env,
      logFile: join(own, `${what}.log`),
    });
    running.defer(() => child.stop(stopMs));
    return child;
  };
  await start('cloud', [join(import.meta.dirname, '../local/cloud.ts'), ...newAccount]);
  const [port = 0] = await freePorts(1);
  const host = await start(
    'host',
    [join(folder, 'packages/local-azure/src/functionsHost/main.ts'), '--port', `${port}`],
    {
      INSTANCE_ID: 'bench-host',
      INVOICE_SCHEDULE: never,
      OUTBOX_SCHEDULE: never,
    },
  );
  const address = `http://127.0.0.1:${port}/api/ops`;
  const memory = memoryOf(host.process.pid);

  await post(`${address}/invoices`, csv('warm', 1_000));
  memory.peak();
  const one = await timed(() => watched(address, () => post(`${address}/invoices`, csv('one', body))));
  const seen = one.value.length < 2 ? '' : `; seen on the way: ${one.value.join(', ')}`;
  console.log(
    `${name.padEnd(9)} ${body} rows in one body: ${rateOf(body, one.seconds)}, at most ${memory.peak()} MB${seen}`,
  );

  const peaks: number[] = [];
  let seconds = 0;
  for (let first = 0; first < rows; first += part) {
    const count = Math.min(part, rows - first);
    const took = await timed(() => post(`${address}/invoices`, csv(`part-${first}`, count)));
    seconds += took.seconds;
    peaks.push(memory.peak());
    console.log(
      `${name.padEnd(9)} ${first + count} rows: ${rateOf(count, took.seconds)}, at most ${peaks.at(-1)} MB`,
    );
  }
  memory.stop();
  const third = Math.ceil(peaks.length / 3);
  const growth = mean(peaks.slice(-third)) / mean(peaks.slice(0, third));
  console.log(
    `${name.padEnd(9)} ${rows} rows in parts of ${part}: ${rateOf(rows, seconds)}; memory grew ${growth.toFixed(2)} times`,
  );
  if (name === 'this' && growth > mostGrowth) process.exitCode = 1;
  return rows / seconds;
}

function csv(prefix: string, count: number): string {
  const lines = Array.from(
    { length: count },
    (_, n) =>
      `${prefix}-${n},cus_${n % 1_000},${n % 900}.${10 + (n % 90)},USD,2099-01-31T12:00:00Z,pm_card_visa,\n`,
  );
  return `id,customerId,amount,currency,dueAt,paymentMethod,description\n${lines.join('').replaceAll(',0.', ',1.')}`;
}

async function post(url: string, text: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: text });
  const answer = await response.text();
  if (response.status !== 200)
    throw new Error(`the import answered ${response.status}: ${answer.slice(0, 500)}`);
  const { created } = answerSchema.parse(JSON.parse(answer));
  const expected = text.split('\n').length - 2;
  if (created === expected) return;
  console.error(`stored ${created} of ${expected} rows`);
  process.exitCode = 1;
}

/** Collects the counts that the list of imports shows for a running one during `work`, looking twice a second. */
async function watched(address: string, work: () => Promise<void>): Promise<number[]> {
  const seen: number[] = [];
  let done = false;
  const working = work().finally(() => {
    done = true;
  });
  while (!done) {
    await delay(500);
    const list = await fetch(`${address}/imports`);
    const running = list.ok ? listSchema.parse(await list.json()).imports[0] : await list.body?.cancel();
    if (running?.status === 'running' && seen.at(-1) !== running.created) seen.push(running.created);
  }
  await working;
  return seen;
}

/** The memory of a host in MB, looked at ten times a second. Linux only; elsewhere 0. */
function memoryOf(pid: number | undefined) {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, Math.round(residentMb(pid) ?? 0));
  }, 100);
  return {
    /** The most since it was asked last. */
    peak() {
      const peak = most;
      most = 0;
      return peak;
    },
    stop: () => clearInterval(timer),
  };
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const started = performance.now();
  const value = await work();
  return { value, seconds: (performance.now() - started) / 1_000 };
}

function rateOf(count: number, seconds: number): string {
  return `${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} rows per second`;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
