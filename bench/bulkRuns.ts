/**
 * Payments beside bulk runs: seconds in which one host pays due invoices, and in which a run of them that a person starts ends,
 * while five bulk runs are open (one voids, four wait for it), and without them, as a ratio.
 *
 *   npm run bench -- bulk [--invoices N] [--voided N]
 *
 * The exit code is 1 if something was charged twice or voided wrongly, or if payments take more than twice as long.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type LocalApp, startLocalApp } from './localApp.ts';

const { values } = parseArgs({
  options: { invoices: { type: 'string', default: '1500' }, voided: { type: 'string', default: '8000' } },
});
const [invoices = 0, voided = 0] = [values.invoices, values.voided].map(Number);
if (![invoices, voided].every((count) => Number.isInteger(count) && count > 0)) {
  console.error('npm run bench -- bulk [--invoices N] [--voided N]');
  process.exit(2);
}

/** Bulk runs that may be open at one time. */
const open = 5;
/** The two share one host and its processor. */
const mostLonger = 2;
const patienceMs = 400_000;
const runSchema = z.object({ status: z.string(), counts: z.record(z.string(), z.number()) });
const startedSchema = z.object({ runId: z.string() });

interface Seconds {
  paid: number;
  /** Of a manual run that begins with the payments. */
  run: number;
}

const alone = await measure('alone', 0);
const beside = await measure(`beside ${open} bulk runs`, open);
const ratio = beside.paid / alone.paid;
console.log(`ratio: ${ratio.toFixed(2)} (${beside.paid.toFixed(1)} / ${alone.paid.toFixed(1)} s)`);
if (ratio > mostLonger) process.exitCode = 1;

async function measure(name: string, runs: number): Promise<Seconds> {
  await using app = await startLocalApp();
  const host = await app.startHost('payer', {
    INVOICE_SCHEDULE: '0 0 0 29 2 *',
    OUTBOX_SCHEDULE: '*/5 * * * * *',
    PAYMENT_RATE: '100',
  });
  const api = `http://127.0.0.1:${host.port}/api/ops`;
  await importNotDue(api);
  const bulk = await Promise.all(Array.from({ length: runs }, (_, index) => startBulk(api, index)));
  await app.importDue('due', invoices);
  const began = performance.now();
  const since = () => (performance.now() - began) / 1_000;
  const [run, paid] = await Promise.all([
    post(`${api}/runs`, { job: 'process-invoices' }, 'measured').then(async ({ runId }) => {
      await ended(api, runId);
      return since();
    }),
    allPaid(app).then(since),
  ]);
  const counts = await Promise.all(bulk.map((runId) => ended(api, runId)));
  const bulkSeconds = since();
  const changed = counts.reduce((sum, { voided: n = 0 }) => sum + n, 0);
  if (runs > 0 && changed !== voided) fail(`${changed} of ${voided} invoices were voided by bulk runs`);
  const { charges } = await app.paymentCounts();
  if (charges !== invoices) fail(`${charges} charges for ${invoices} invoices`);
  const after = runs === 0 ? '' : `, the bulk runs after ${bulkSeconds.toFixed(1)} s (${changed} voided)`;
  console.log(
    `${name}: ${invoices} invoices paid in ${paid.toFixed(1)} s, the run ended after ${run.toFixed(1)} s${after}`,
  );
  return { paid, run };
}

/** Invoices that bulk runs void: nobody pays them, they are due years from now. */
async function importNotDue(api: string): Promise<void> {
  const rows = Array.from({ length: voided }, (_, index) => ({
    id: `later-${index}`,
    customerId: 'cus_later',
    amountMinor: 1_000,
    currency: 'USD',
    dueAt: '2099-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  }));
  const body = JSON.stringify(rows);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${api}/invoices`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`import: ${response.status} ${await response.text()}`);
}

async function startBulk(api: string, index: number): Promise<string> {
  const filter = { status: 'pending', customer: 'cus_later' };
  const request = { action: 'void', filter, reason: 'sent by mistake' };
  return (await post(`${api}/bulk`, request, `bulk-${index}`)).runId;
}

async function post(address: string, body: unknown, key: string): Promise<z.infer<typeof startedSchema>> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
  if (response.status !== 202) throw new Error(`${address}: ${response.status} ${await response.text()}`);
  return startedSchema.parse(await response.json());
}

/** Counts of a run, once it has ended. */
async function ended(api: string, runId: string): Promise<Readonly<Record<string, number>>> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until) {
    const response = await fetch(`${api}/runs/${runId}`);
    if (response.ok) {
      const { status, counts } = runSchema.parse(await response.json());
      if (status === 'completed') return counts;
      if (status !== 'running') fail(`run ${runId}: ${status}`);
    }
    await delay(200);
  }
  throw new Error(`run ${runId} did not end in ${patienceMs / 1_000} s`);
}

async function allPaid(app: LocalApp): Promise<void> {
  const until = performance.now() + patienceMs;
  while ((await app.paymentCounts()).charges < invoices) {
    if (performance.now() > until) throw new Error(`not all was paid in ${patienceMs / 1_000} s`);
    await delay(100);
  }
}

function fail(problem: string): never {
  throw new Error(problem);
}
