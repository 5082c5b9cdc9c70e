/**
 * Measures what it costs to move settled invoices to the archive, and how much room it makes: a host pays invoices on the local
 * cloud, then they are moved as if `KEEP_DAYS` had passed, without the rests that a run takes. docs/retention.md has the
 * figures.
 *
 *   npm run bench -- retention [--invoices N]
 */
import { parseArgs } from 'node:util';
import type { Container } from '@azure/cosmos';
import { cosmosDocuments } from '../packages/jobs/src/documents/cosmosDocuments.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { noTelemetry } from '../packages/leases/src/telemetry.ts';
import { archiveSettled } from '../src/archive/archiveSettled.ts';
import { blobArchive } from '../src/archive/blobArchive.ts';
import { cosmosArchiveStore } from '../src/archive/cosmosArchiveStore.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { blobContainers } from '../src/platform/azureNames.ts';
import { startPayingApp } from './payingApp.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const keepDays = 400;
const partitionBytes = 20e9;
const daysOfMonth = 365.25 / 12;
/** Of an invoice with a description, some tries and a refund. */
const largerBytes = 2_500;

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '8000' } } });
const count = Number(values.invoices);
if (!Number.isInteger(count) || count < 1) {
  console.error('npm run bench -- retention [--invoices N]');
  process.exit(2);
}

await using app = await startPayingApp();
const { clients, settings } = app;
const container = clients.containers.invoices;
await app.importDue('inv', count);
await app.startHost();
await app.payDue(count);
const invoiceBytes = await bytesOf('invoice');

const files = { count: 0, bytes: 0 };
let runs = 0;
const charge = countCharges(container);
const blobs = blobArchive(clients.blobs.getContainerClient(blobContainers.archive));
const run = () =>
  archiveSettled(
    {
      documents: cosmosDocuments(container),
      store: cosmosArchiveStore(container),
      invoices: cosmosInvoiceStore(container, { clock: systemClock, shards: settings.shards }),
      blobs: {
        ...blobs,
        create(name, text) {
          files.count++;
          files.bytes += Buffer.byteLength(text);
          return blobs.create(name, text);
        },
      },
      shards: settings.shards,
      keepDays,
      instance: { clock: later(), telemetry: noTelemetry },
    },
    { assertHeld() {} },
    new AbortController().signal,
  );
const began = performance.now();
let moved = 0;
// One run copies, the next one moves. Invoices whose receipts are not dispatched yet stay for a later run.
for (; moved < count; runs++) moved += (await run()).moved;
const seconds = (performance.now() - began) / 1000;
const tombstoneBytes = await bytesOf('tombstone');

const perInvoice = (value: number) => (value / count).toFixed(1);
console.log(`moved            ${Math.round(count / seconds)} invoices a second, without rests`);
console.log(`request units    ${perInvoice(charge.units)} an invoice, as the local Cosmos estimates them`);
console.log(`Cosmos requests  ${(charge.requests / count).toFixed(3)} an invoice`);
console.log(`files            ${files.count}, ${Math.round(files.bytes / count)} bytes an invoice`);
console.log(`an invoice       ${Math.round(invoiceBytes)} bytes`);
console.log(`its tombstone    ${Math.round(tombstoneBytes)} bytes`);
for (const bytes of [invoiceBytes, largerBytes]) {
  console.log(
    `\nmonths until a partition is full, at ten million invoices a month of ${Math.round(bytes)} bytes:`,
  );
  console.log('| `SHARDS` | all kept | `KEEP_DAYS` 400 | 180 | 90 |');
  for (const shards of [16, 32, 64, 128]) {
    const monthly = 10e6 / shards;
    const months = [400, 180, 90].map((days) => monthsWith(monthly, days / daysOfMonth, bytes));
    console.log(`| ${shards} | ${allKept(monthly, bytes)} | ${months.join(' | ')} |`);
  }
}

function allKept(monthly: number, bytes: number): string {
  return (partitionBytes / (monthly * bytes)).toFixed(0);
}

/** Invoices of the last months are whole, older ones are tombstones. */
function monthsWith(monthly: number, keptMonths: number, bytes: number): string {
  const whole = monthly * keptMonths * bytes;
  if (whole > partitionBytes) return `${allKept(monthly, bytes)}: full before anything moves`;
  return (keptMonths + (partitionBytes - whole) / (monthly * tombstoneBytes)).toFixed(0);
}

/** The mean size of the documents of a type, as JSON, with what Cosmos adds. */
async function bytesOf(type: string): Promise<number> {
  const { resources } = await container.items
    .query<object>({
      query: 'SELECT * FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: type }],
    })
    .fetchAll();
  return resources.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0) / resources.length;
}

/** Sums up what the service charges for queries and transactions from now on. */
function countCharges({ items }: Container) {
  const counted = { units: 0, requests: 0 };
  const add = (units: unknown) => {
    counted.units += Number(units ?? 0);
    counted.requests++;
  };
  const batch = items.batch.bind(items);
  items.batch = async (...args) => {
    const answer = await batch(...args);
    add(answer.headers?.['x-ms-request-charge']);
    return answer;
  };
  const query = items.query.bind(items);
  items.query = ((...args: Parameters<typeof query>) => {
    const pages = query(...args);
    for (const name of ['fetchNext', 'fetchAll'] as const) {
      const fetch = pages[name].bind(pages);
      pages[name] = async () => {
        const answer = await fetch();
        add(answer.requestCharge);
        return answer;
      };
    }
    return pages;
  }) as typeof items.query;
  return counted;
}

/** The time after `keepDays`, an hour later at each run, at which no run rests. */
function later() {
  return {
    ...systemClock,
    now: () => Date.now() + (keepDays + 1) * dayMs + runs * hourMs,
    sleep: (ms: number) => (ms > 60_000 ? new Promise<never>(() => {}) : Promise.resolve()),
  };
}
