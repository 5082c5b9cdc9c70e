/**
 * The report, the export and the recount over many invoices on the local cloud: a host pays them (5 % are declined), 3 % are
 * refunded and 3 % disputed at the provider, then the report has to match the documents and the provider's ledger to the
 * minor unit.
 *
 *   npm run bench -- report [--invoices N]
 *
 * Exits with 1 if anything differs. Times, requests to the invoices container and memory of a fresh host are only printed:
 * they depend on the machine as much as on the app.
 */
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { queues } from '../../src/platform/azureNames.ts';
import { importRows } from '../../test/support/importing.ts';
import { startLocalApp } from '../localApp.ts';
import { residentMb } from '../pace/memory.ts';
import { countDocuments } from './countDocuments.ts';
import { differences, moved, overall } from './figures.ts';
import { fateOf, numbered } from './invoices.ts';
import { countLedger, readLedger } from './ledger.ts';
import { askForReport, reportedFigures } from './reported.ts';
import { reverse } from './reverse.ts';

const dayMs = 86_400_000;
const never = '0 0 0 29 2 *';
/** Milliseconds without progress after which the run counts as stalled. */
const stalledMs = 300_000;

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '100000' } } });
const count = Number(values.invoices);
if (!Number.isInteger(count) || count < 1) {
  console.error('npm run bench -- report [--invoices N]');
  process.exit(2);
}

await using app = await startLocalApp();
const { settings, clients } = app;
const container = clients.containers.invoices;
const instance = { name: 'bench', clock: systemClock, telemetry: noTelemetry, log: console.warn };
const invoices = cosmosInvoiceStore(container, { clock: systemClock, shards: settings.shards });
await timed('import', async () => {
  const rows = Array.from({ length: count }, (_, index) => ({ index, invoice: numbered(index) }));
  const { created } = await importRows(invoices, rows, 'bench');
  if (created !== count) throw new Error(`stored ${created} of ${count} invoices`);
});
await timed('payments', payAll);
await timed('refunds and disputes', () => reverse(count, { invoices, instance, ...settings.stripe }));

const host = await app.startHost('reporting', { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never });
const address = `http://127.0.0.1:${host.port}/api`;
const from = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
const to = new Date().toISOString().slice(0, 10);
const ask = () => askForReport(address, new URLSearchParams({ from, to }));
await ask();
const csv = await measured('report', ask);
await measured('export', () => readExport(`${address}/ops/invoices.csv`));
await measured('list, one page', async () => (await fetch(`${address}/ops/invoices`)).text());
const reported = reportedFigures(csv);
const counted = await countDocuments(container, { from: Date.parse(from), to: Date.parse(to) + dayMs });
const ledger = countLedger(await readLedger(app.payments), counted);
for (const [name, figure] of [...overall(reported)].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  console.log(`  ${name.padEnd(20)} ${String(figure.minor).padStart(16)} in ${figure.count}`);
}
const found = [
  ...differences(['report', reported], ['documents', counted.figures]),
  ...differences(['report', moved(overall(reported))], ['ledger', ledger.figures]),
  ...ledger.missing,
];
for (const line of found) console.log(`differs: ${line}`);
console.log(
  found.length === 0
    ? `The report over ${counted.invoices} invoices matches the documents and the ledger to the minor unit.`
    : `${found.length} differences`,
);
process.exitCode = found.length === 0 ? 0 : 1;

/** A host pays everything; its receipts wait, and are thrown away. */
async function payAll(): Promise<void> {
  const env = {
    INVOICE_SCHEDULE: never,
    OUTBOX_SCHEDULE: never,
    AzureFunctionsJobHost__extensions__queues__batchSize: '1',
    AzureFunctionsJobHost__extensions__queues__newBatchThreshold: '0',
  };
  const paying = await app.startHost('paying', env);
  const due = Array.from({ length: count }, (_, n) => n).filter((n) => fateOf(n) !== 'declined').length;
  const wanted = new Map([
    ['paid', due],
    ['declined', count - due],
  ]);
  let best = -1;
  let movedAt = performance.now();
  for (let rounds = 0; ; rounds++) {
    const { byStatus } = await invoices.counts(new Date().toISOString());
    if ([...wanted].every(([status, n]) => (byStatus.get(status) ?? 0) === n)) break;
    const done = (byStatus.get('paid') ?? 0) + (byStatus.get('declined') ?? 0);
    if (done > best) movedAt = performance.now();
    if (performance.now() - movedAt > stalledMs)
      throw new Error(`stalled at ${JSON.stringify([...byStatus])}`);
    best = done;
    if (rounds % 10 === 0) {
      await fetch(`http://127.0.0.1:${paying.port}/admin/functions/processInvoices`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"input":""}',
      });
    }
    await setTimeout(2_000);
  }
  await app.stopHosts();
  await clients.queues.getQueueClient(queues.workItems).clearMessages();
}

/** Reads the export to its end and keeps none of it. */
async function readExport(url: string): Promise<void> {
  let bytes = 0;
  let lines = 0;
  for await (const chunk of (await fetch(url)).body ?? []) {
    bytes += chunk.length;
    lines += Buffer.from(chunk).filter((byte) => byte === 10).length;
  }
  if (lines !== count + 1) throw new Error(`the export has ${lines} lines for ${count} invoices`);
  console.log(`${(bytes / 2 ** 20).toFixed(1)} MB of CSV`);
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** Runs it on the fresh host: its time, its requests to the invoices container, and the host's memory. */
async function measured<T>(what: string, work: () => Promise<T>): Promise<T> {
  const requests = async () => (await app.cosmosRequests()).get('invoices') ?? 0;
  const memory = () => residentMb(host.process.pid) ?? Number.NaN;
  const [requestsBefore, memoryBefore] = [await requests(), memory()];
  let peak = memoryBefore;
  const watch = setInterval(() => {
    peak = Math.max(peak, memory());
  }, 20);
  const started = performance.now();
  try {
    return await work();
  } finally {
    const seconds = (performance.now() - started) / 1000;
    clearInterval(watch);
    console.log(
      `${what}: ${seconds.toFixed(2)} s, ${(await requests()) - requestsBefore} Cosmos requests, ` +
        `host at ${memoryBefore.toFixed(0)} MB before and ${peak.toFixed(0)} MB at most`,
    );
  }
}
