// npm run after-restore -- --since 2026-11-20T08:00:00Z [--apply]
//
// Run this before the app pays from a restored database; docs/deploy.md says when. It checks every payment
// that Stripe made since then (use a day before the backup time) against the database. With --apply it marks
// as paid every invoice that Stripe has charged and the database does not have as paid, and as processing every
// invoice whose payment is in progress. Exits with 0 if nothing needs a human decision, and without --apply only
// if nothing has to be marked either. Environment
// variables, as for the app: Cosmos or Cosmos__accountEndpoint, SHARDS, STRIPE_SECRET_KEY, STRIPE_API_BASE.
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosDocuments } from '../src/documents/cosmosDocuments.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { accountRecord } from '../src/paying/accountRecord.ts';
import { stripeClient } from '../src/paying/stripe/stripeClient.ts';
import { systemClock } from '../src/platform/clock.ts';
import { containers, databaseName } from '../src/platform/cosmosContainers.ts';
import { cosmosFromEnvironment } from './cosmosFromEnvironment.ts';
import { type Finding, settleRestored } from './settleRestored.ts';

const { values } = parseArgs({
  options: { since: { type: 'string' }, apply: { type: 'boolean', default: false } },
});
const inputs = z.object({
  since: z.iso.datetime({ offset: true, error: 'expected a time like 2026-11-20T08:00:00Z' }),
  cosmos: cosmosFromEnvironment,
  STRIPE_SECRET_KEY: z.string(),
  STRIPE_API_BASE: z.string().default('https://api.stripe.com'),
  /** No default: with a number other than the app's, no invoice would be found. */
  SHARDS: z.coerce.number().int().min(1).max(256),
});
const read = inputs.safeParse({ ...process.env, ...values, cosmos: process.env });
if (!read.success) {
  console.error(z.prettifyError(read.error));
  process.exit(2);
}
const { since, cosmos, STRIPE_SECRET_KEY: secretKey, STRIPE_API_BASE: apiBase, SHARDS: shards } = read.data;
const client = new CosmosClient(cosmos);
const container = client.database(databaseName).container(containers.invoices.name);
const counts: Record<Finding, number> = {
  known: 0,
  marked: 0,
  following: 0,
  reversed: 0,
  missing: 0,
  differs: 0,
  foreign: 0,
  twice: 0,
  again: 0,
};
const { deployment } = (await accountRecord(cosmosDocuments(container), systemClock).find()) ?? {};
for await (const { finding, invoiceId, paymentId } of settleRestored({
  stripe: stripeClient({ secretKey, apiBase, timeoutMs: 30_000 }),
  invoices: cosmosInvoiceStore(container, { clock: systemClock, shards }),
  since: Date.parse(since),
  now: Date.now(),
  apply: values.apply,
  ...(deployment === undefined ? {} : { deployment }),
})) {
  counts[finding]++;
  if (finding !== 'known') console.log(`${finding}\t${invoiceId}\t${paymentId}`);
}
client.dispose();
const { known, marked, following, reversed, missing, differs, foreign, twice, again } = counts;
const done = values.apply ? '' : 'to be ';
console.log(`${known} known, ${marked} ${done}marked paid, ${following} in progress ${done}followed`);
console.log(
  `${missing} without an invoice, ${differs} with a different amount, ${reversed} paid and reversed, ` +
    `${twice} charged twice, ${foreign} of other customers or deployments, ${again} to run again`,
);
const forPeople = missing + differs + reversed + twice + again;
process.exitCode = forPeople + (values.apply ? 0 : marked + following) === 0 ? 0 : 1;
