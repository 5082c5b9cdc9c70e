/**
 * Measures what the summary, the report and the lists take with a thousand invoices and with a hundred thousand, on the local
 * cloud: half of them paid, a quarter due now, a quarter due later. The host's timers rest.
 *
 *   npm run bench -- lists [--invoices N]
 *
 * Exits with 1 if a limit of docs/report.md is exceeded.
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../packages/leases/src/clock.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { storeMany } from '../test/invoice/counters/manyInvoices.ts';
import { startLocalApp } from './localApp.ts';

const few = 1_000;
const times = 40;
const never = '0 0 0 29 2 *';

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '100000' } } });
const many = Number(values.invoices);
if (!Number.isInteger(many) || many <= few) {
  console.error(`npm run bench -- lists [--invoices N], N above ${few}`);
  process.exit(2);
}

await using app = await startLocalApp();
const { shards } = app.settings;
const invoices = cosmosInvoiceStore(app.clients.containers.invoices, { clock: systemClock, shards });
const host = await app.startHost('lists', { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never });
const address = `http://127.0.0.1:${host.port}/api/ops`;
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

const asked = {
  summary: '/summary',
  report: `/report?from=${day(-30)}&to=${day(0)}`,
  'report of a year': `/report?from=${day(-364)}&to=${day(0)}`,
  'list: all': '/invoices',
  'list: status paid': '/invoices?status=paid',
  'list: status parked (none)': '/invoices?status=parked',
  'list: customer': '/invoices?customer=cus-7',
  'list: currency (none)': '/invoices?currency=KWD',
  'list: due today': `/invoices?dueAfter=${day(0)}T00:00:00Z&dueBefore=${day(1)}T00:00:00Z`,
  'list: due in years (none)': '/invoices?dueAfter=2090-01-01T00:00:00Z',
  'list: paid, customer, due before': `/invoices?status=paid&customer=cus-8&dueBefore=${day(1)}T00:00:00Z`,
};

await store(few, 'few');
const ofFew = await measureAll();
await store(many - few, 'many');
const ofMany = await measureAll();

let ok = true;
console.log(`${''.padEnd(34)} ${String(few).padStart(9)} ${String(many).padStart(9)}  ratio`);
for (const [name, after] of Object.entries(ofMany)) {
  const before = ofFew[name] ?? Number.NaN;
  const within =
    name === 'summary'
      ? after < 50 && after <= 1.5 * before
      : after < (name.startsWith('list') ? 100 : 1_000);
  ok &&= within;
  const line = `${before.toFixed(1).padStart(6)} ms ${after.toFixed(1).padStart(6)} ms  ${(after / before).toFixed(2)}`;
  console.log(`${name.padEnd(34)} ${line} ${within ? '' : 'ABOVE the limit'}`);
}
process.exitCode = ok ? 0 : 1;

async function store(count: number, prefix: string): Promise<void> {
  const started = performance.now();
  await storeMany(invoices, count, { shards, now: Date.now(), prefix });
  console.log(`${count} invoices stored in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** The median of each, in milliseconds. */
async function measureAll(): Promise<Record<string, number>> {
  const medians: Record<string, number> = {};
  for (const [name, path] of Object.entries(asked)) {
    const took: number[] = [];
    for (let n = 0; n < times + 5; n++) {
      const started = performance.now();
      const response = await fetch(`${address}${path}`);
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      // The first ones make indexes, and warm up.
      if (n >= 5) took.push(performance.now() - started);
    }
    medians[name] = took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Number.NaN;
  }
  return medians;
}
