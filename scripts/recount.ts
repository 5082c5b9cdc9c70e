// npm run recount -- --from 2026-10-01 --to 2026-10-31 [--currency EUR] [--address http://127.0.0.1:7071/api]
//
// Recounts what GET ops/report says: reads every document of the container instead of asking the report's queries, adds
// them up on its own, and compares each figure of each day and currency. With --address it compares with the report of that
// app, otherwise with one made here. If STRIPE_API_BASE is the local payment provider, it also compares the totals with
// its ledger, and names payments, refunds and disputes that only one of the two has. Both days count as a whole (UTC).
//
// Exits with 0 if everything is the same, with 1 if anything differs. Run it on days that are over: what changes meanwhile
// may be a difference. It reads the whole container, at about 1 RU per KB (docs/figures.md#the-recount). Environment
// variables, as for the app: Cosmos or Cosmos__accountEndpoint, STRIPE_API_BASE; with --address, FUNCTIONS_KEY or
// BEARER_TOKEN.
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosArchiveStore } from '../src/archive/cosmosArchiveStore.ts';
import { withArchivedFigures } from '../src/archive/withArchivedFigures.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { systemClock } from '../src/platform/clock.ts';
import { containers, databaseName } from '../src/platform/cosmosContainers.ts';
import { addUp } from '../src/reporting/report.ts';
import { cosmosFromEnvironment } from './cosmosFromEnvironment.ts';
import { countDocuments } from './recount/countDocuments.ts';
import { differences, moved, overall } from './recount/figures.ts';
import { countLedger, readLedger } from './recount/ledger.ts';
import { askForReport, csvOf, reportedFigures } from './recount/reported.ts';

const dayMs = 86_400_000;
const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    currency: { type: 'string' },
    address: { type: 'string' },
  },
});
const day = z.iso.date({ error: 'expected a day like 2026-10-31' });
const inputs = z.object({
  from: day,
  to: day,
  currency: z.string().length(3).optional(),
  address: z.url().optional(),
  cosmos: cosmosFromEnvironment,
  STRIPE_API_BASE: z.url().optional(),
});
const read = inputs.safeParse({ ...process.env, ...values, cosmos: process.env });
if (!read.success) {
  console.error(z.prettifyError(read.error));
  process.exit(2);
}
const { address, cosmos, STRIPE_API_BASE: provider, ...asked } = read.data;
const only = asked.currency === undefined ? {} : { currency: asked.currency };
const from = Date.parse(asked.from);
const to = Date.parse(asked.to) + dayMs;
const client = new CosmosClient(cosmos);
const container = client.database(databaseName).container(containers.invoices.name);
// The number of shards only matters for finding an invoice by its id.
const stored = cosmosInvoiceStore(container, { clock: systemClock, shards: 1 });
const invoices = withArchivedFigures(stored, cosmosArchiveStore(container));
const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), ...only };
const csv =
  address === undefined
    ? csvOf(await addUp(invoices.movements(period)))
    : await askForReport(address, new URLSearchParams({ from: asked.from, to: asked.to, ...only }));
const reported = reportedFigures(csv);
const counted = await countDocuments(container, { from, to, ...only });
client.dispose();
const found = differences(['report', reported], ['documents', counted.figures]);
console.log(`${counted.invoices} invoices counted, ${reported.size} figures compared`);
if (provider !== undefined && isLoopback(provider)) {
  const ledger = countLedger(await readLedger(provider), counted);
  found.push(
    ...differences(['report', moved(overall(reported))], ['ledger', ledger.figures]),
    ...ledger.missing,
  );
  console.log(`${ledger.figures.size} totals compared with the ledger of the local payment provider`);
}
for (const [name, { count, minor }] of [...overall(reported)].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${name}\t${minor}\t(${count})`);
for (const line of found) console.log(`differs\t${line}`);
console.log(found.length === 0 ? 'Everything adds up.' : `${found.length} differences`);
process.exitCode = found.length === 0 ? 0 : 1;

function isLoopback(url: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
}
