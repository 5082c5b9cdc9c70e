// npm run after-restore -- --since 2026-11-20T08:00:00Z [--apply] [--accept ID ...]
//
// Run this before the app pays from a restored database; docs/deploy.md says when. It checks every payment that Stripe made,
// refunded or saw disputed since then (use a day before the backup time) against the database. With --apply it marks as paid every
// invoice that Stripe has charged and the database does not have as paid, as processing every invoice whose payment is in
// progress, and records refunds and disputes. Then it lists what people have voided, moved or given another payment method since
// then and the database lacks. Exits with 0 if nothing is left to do; --accept leaves out the payment or invoice of this id,
// about which a person has decided. Environment variables, as for the app: Cosmos or Cosmos__accountEndpoint, SHARDS,
// STRIPE_SECRET_KEY, STRIPE_API_BASE, AzureWebJobsStorage or AzureWebJobsStorage__accountName.
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosDocuments } from '../packages/jobs/src/documents/cosmosDocuments.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { blobArchive } from '../src/archive/blobArchive.ts';
import { invoiceArchive, withArchive } from '../src/archive/restoreInvoice.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { otherAccount, recordedAccount } from '../src/paying/accountCheck.ts';
import { blobContainers } from '../src/platform/azureNames.ts';
import { containers, databaseName } from '../src/platform/cosmosContainers.ts';
import { stripeClient } from '../src/stripe/stripeClient.ts';
import { stripeProvider } from '../src/stripe/stripeProvider.ts';
import { changesLost } from './changesLost.ts';
import { cosmosFromEnvironment } from './cosmosFromEnvironment.ts';
import { journalLines } from './readJournal.ts';
import { endClaim, type Finding, settleRestored } from './settleRestored.ts';
import { storageFromEnvironment } from './storageFromEnvironment.ts';

const { values } = parseArgs({
  options: {
    since: { type: 'string' },
    apply: { type: 'boolean', default: false },
    accept: { type: 'string', multiple: true, default: [] },
  },
});
const inputs = z.object({
  since: z.iso.datetime({ offset: true, error: 'expected a time like 2026-11-20T08:00:00Z' }),
  cosmos: cosmosFromEnvironment,
  storage: storageFromEnvironment,
  STRIPE_SECRET_KEY: z.string(),
  STRIPE_API_BASE: z.string().default('https://api.stripe.com'),
  /** No default: with a number other than the app's, no invoice would be found. */
  SHARDS: z.coerce.number().int().min(1).max(256),
});
const read = inputs.safeParse({ ...process.env, ...values, cosmos: process.env, storage: process.env });
if (!read.success) {
  console.error(z.prettifyError(read.error));
  process.exit(2);
}
const {
  since,
  cosmos,
  storage,
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_API_BASE: apiBase,
  SHARDS: shards,
} = read.data;
const { apply } = values;
const accepted = new Set(values.accept);
const client = new CosmosClient(cosmos);
const container = client.database(databaseName).container(containers.invoices.name);
const documents = cosmosDocuments(container);
const blobs = blobArchive(storage.getContainerClient(blobContainers.archive));
const invoices = withArchive(
  cosmosInvoiceStore(container, { clock: systemClock, shards }),
  invoiceArchive({ documents, blobs, clock: systemClock, shards }),
  'after-restore',
);
const counts: Record<Finding, number> = {
  known: 0,
  marked: 0,
  following: 0,
  merged: 0,
  missing: 0,
  parked: 0,
  foreign: 0,
  twice: 0,
  again: 0,
};
const recorded = await recordedAccount(documents);
const deployment = recorded?.deployment;
const answer = await stripeProvider({ secretKey, apiBase, timeoutMs: 30_000 }).account();
const given = answer.kind === 'account' ? answer : undefined;
const problem =
  given === undefined
    ? `STRIPE_SECRET_KEY: the provider does not say whose it is: ${answer.message}`
    : recorded &&
      otherAccount(recorded, { mode: given.mode, ...(given.id === undefined ? {} : { account: given.id }) });
if (given?.message !== undefined) console.error(`only the mode of the account is compared: ${given.message}`);
if (problem !== undefined) {
  console.error(problem);
  process.exit(2);
}
for await (const { finding, invoiceId, paymentId } of settleRestored({
  stripe: stripeClient({ secretKey, apiBase, timeoutMs: 30_000 }),
  invoices,
  since: Date.parse(since),
  now: Date.now(),
  apply,
  ...(deployment === undefined ? {} : { deployment }),
})) {
  if (finding !== 'known') console.log(`${finding}\t${invoiceId}\t${paymentId}`);
  counts[accepted.has(paymentId) || accepted.has(invoiceId) ? 'known' : finding]++;
}
const utc = new Date(since).toISOString();
const journal = journalLines(storage.getContainerClient(blobContainers.changes), utc, (blob, text) =>
  console.error(`a line of the journal cannot be read: ${blob}: ${text}`),
);
const changes = (await changesLost(journal, invoices, utc)).filter(
  ({ invoiceId }) => !accepted.has(invoiceId),
);
for (const { at, invoiceId, actor, change, answered } of changes) {
  if (apply) await endClaim(invoices, invoiceId);
  const { kind, ...to } = change;
  const perhaps = answered ? '' : ' perhaps';
  console.log(`lost\t${invoiceId}\t${kind}${perhaps}\t${Object.values(to).join('')}\tby ${actor} at ${at}`);
}
client.dispose();
const { known, marked, following, merged, missing, parked, foreign, twice, again } = counts;
const done = apply ? '' : 'to be ';
console.log(
  `${known} known, ${marked} ${done}marked paid, ${following} in progress ${done}followed, ${merged} whose refunds or disputes ` +
    `are ${done}recorded`,
);
console.log(
  `${missing} without an invoice, ${parked} ${done}parked, ${twice} charged twice, ${foreign} of other customers or deployments, ` +
    `${again} to run again`,
);
console.log(`${changes.length} changes by people that the database lacks`);
const forPeople = missing + parked + twice + again + changes.length;
process.exitCode = forPeople + (apply ? 0 : marked + following + merged) === 0 ? 0 : 1;
