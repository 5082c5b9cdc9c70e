/**
 * Measures what each kind of search and the totals of a list cost, in request units of the local Cosmos DB, whose charges are not
 * those of Azure.
 *
 *   npm run bench -- search [--invoices N]
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../packages/leases/src/clock.ts';
import type { InvoiceContent } from '../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { startLocalApp } from './localApp.ts';

const { values } = parseArgs({ options: { invoices: { type: 'string', default: '115000' } } });
const count = Number(values.invoices);
if (!Number.isInteger(count) || count < 1) {
  console.error('npm run bench -- search [--invoices N]');
  process.exit(2);
}

const texts = {
  'id, its beginning': 'many-1',
  'id, whole': 'many-77',
  'customer, its beginning': 'cus-7',
  'customers, all': 'cus-',
  'word of the description': 'website',
  amount: '310.84',
  nothing: 'no such thing',
};

await using app = await startLocalApp();
const { shards } = app.settings;
const invoices = cosmosInvoiceStore(app.clients.containers.invoices, { clock: systemClock, shards });
const { failure } = await invoices.add(rows(), { by: 'bench', withinMs: 3_600_000, settled() {} });
if (failure !== undefined) throw new Error('the invoices could not be stored', { cause: failure });

for (const [kind, text] of Object.entries(texts)) {
  const from = performance.now();
  const { charge } = await invoices.search(text);
  say(`search: ${kind}`, charge, from);
}
const filters = {
  'all of them': {},
  'one customer': { customer: 'cus-7' },
  parked: { status: 'parked' },
} as const;
for (const [name, filter] of Object.entries(filters)) {
  const from = performance.now();
  const { charge } = await invoices.totals(filter, 10_000);
  say(`totals: ${name}`, charge, from);
}
process.exit(0);

function* rows(): Generator<InvoiceContent[]> {
  for (let n = 0; n < count; n++)
    yield [
      {
        id: `many-${n}`,
        customerId: `cus-${n % 500}`,
        amountMinor: 100 + (n % 1_000_000),
        currency: n % 3 === 0 ? 'EUR' : 'USD',
        dueAt: new Date(Date.UTC(2030, 0, 1 + (n % 28))).toISOString(),
        paymentMethod: 'pm_card_visa',
        description: `Website care, month ${n % 12}`,
      },
    ];
}

function say(what: string, charge: number, from: number): void {
  const ms = (performance.now() - from).toFixed(0);
  console.log(`${what.padEnd(34)} ${charge.toFixed(0).padStart(8)} RU ${ms.padStart(6)} ms`);
}
