/**
 * What it costs to move settled invoices to the archive, and how much room it makes: a host pays invoices on the local cloud,
 * then they are moved as if `KEEP_DAYS` had passed, without the rests that a run takes. docs/retention.md has the figures.
 *
 *   npm run bench:retention -- [--invoices N]
 */
import { parseArgs } from 'node:util';
import type { Container } from '@azure/cosmos';
import { archiveSettled } from '../src/archive/archiveSettled.ts';
import { blobArchive } from '../src/archive/blobArchive.ts';
import { cosmosArchiveStore } from '../src/archive/cosmosArchiveStore.ts';
import { cosmosDocuments } from '../src/documents/cosmosDocuments.ts';
import { blobContainers } from '../src/platform/azureNames.ts';
import { systemClock } from '../src/platform/clock.ts';
import { noTelemetry } from '../src/platform/telemetry.ts';
import { startPayingApp } from './payingApp.ts';

const dayMs = 86_400_000;
const keepDays = 400;
const partitionBytes = 20e9;
const daysOfMonth = 365.25 / 12;

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '8000' } } });
const count = Number(values.invoices);
if (!Number.isInteger(count) || count < 1) {
  console.error('npm run bench:retention -- [--invoices N]');
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
const charge = countCharges(container);
const blobs = blobArchive(clients.blobs.getContainerClient(blobContainers.archive));
const run = () =>
  archiveSettled(
    {
      documents: cosmosDocuments(container),
      store: cosmosArchiveStore(container),
      blobs: {
        ...blobs,
        create(name, text) {
          files.count++;
          files.bytes += Buffer.byteLength(text);
          return blobs.create(name, text);
        },
      },
      poison: { list: async () => [] },
      shards: settings.shards,
      keepDays,
      instance: { clock: later(), telemetry: noTelemetry },
    },
    { assertHeld() {} },
    new AbortController().signal,
  );
const began = performance.now();
let moved = 0;
// Invoices whose receipts are not dispatched yet stay for the next run.
while (moved < count) moved += (await run()).moved;
const seconds = (performance.now() - began) / 1000;
const tombstoneBytes = await bytesOf('tombstone');

const perInvoice = (value: number) => (value / count).toFixed(1);
console.log(`moved            ${Math.round(count / seconds)} invoices a second, without rests`);
console.log(`request units    ${perInvoice(charge.units)} an invoice, as the local Cosmos estimates them`);
console.log(`Cosmos requests  ${(charge.requests / count).toFixed(3)} an invoice`);
console.log(`files            ${files.count}, ${Math.round(files.bytes / count)} bytes an invoice`);
console.log(`an invoice       ${Math.round(invoiceBytes)} bytes`);
console.log(`its tombstone    ${Math.round(tombstoneBytes)} bytes`);
console.log(`\nmonths until a partition is full, at ten million invoices a month:`);
for (const shards of [16, 32, 64, 128, 256]) {
  const monthly = 10e6 / shards;
  const without = partitionBytes / (monthly * invoiceBytes);
  const withRetention = [90, 180, 400].map(
    (days) => `${days} days: ${monthsWith(monthly, days / daysOfMonth)}`,
  );
  console.log(`${shards} shards  without: ${without.toFixed(0)}  ${withRetention.join('  ')}`);
}

/** Invoices of the last months are whole, older ones are tombstones. */
function monthsWith(monthly: number, keptMonths: number): string {
  const whole = monthly * keptMonths * invoiceBytes;
  if (whole > partitionBytes)
    return `${(partitionBytes / (monthly * invoiceBytes)).toFixed(0)} (full before any moves)`;
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
  const add = <T extends { requestCharge?: number | undefined }>(answer: T): T => {
    counted.units += answer.requestCharge ?? 0;
    counted.requests++;
    return answer;
  };
  const batch = items.batch.bind(items);
  items.batch = async (...args) => add(await batch(...args));
  const query = items.query.bind(items);
  items.query = ((...args: Parameters<typeof query>) => {
    const pages = query(...args);
    const fetchNext = pages.fetchNext.bind(pages);
    pages.fetchNext = async () => add(await fetchNext());
    const fetchAll = pages.fetchAll.bind(pages);
    pages.fetchAll = async () => add(await fetchAll());
    return pages;
  }) as typeof items.query;
  return counted;
}

/** The time after `keepDays`, at which no run rests. */
function later() {
  return {
    ...systemClock,
    now: () => Date.now() + (keepDays + 1) * dayMs,
    sleep: (ms: number) => (ms > 60_000 ? new Promise<never>(() => {}) : Promise.resolve()),
  };
}
