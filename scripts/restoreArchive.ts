// npm run restore-archive -- --month 2026-01 [--apply]
//
// Stores the invoices of a month's archive files in a database that has lost them; docs/retention.md#the-drill says when. The
// month is that in which they were archived. Without --apply it counts what is missing and stores nothing. It changes nothing that is
// there, so it can be run again. Restore the newest month first: of an invoice that was archived twice the newest copy
// counts. Exits with 0 if it is done. Environment variables, as for the app: Cosmos or Cosmos__accountEndpoint,
// AzureWebJobsStorage or AzureWebJobsStorage__accountName, SHARDS.
import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosDocuments } from '../packages/jobs/src/documents/cosmosDocuments.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { blobArchive } from '../src/archive/blobArchive.ts';
import { shardsCheck } from '../src/invoice/shard.ts';
import { blobContainers } from '../src/platform/azureNames.ts';
import { containers, databaseName } from '../src/platform/cosmosContainers.ts';
import { cosmosFromEnvironment } from './cosmosFromEnvironment.ts';
import { restoreMonth } from './restoreMonth.ts';
import { storageFromEnvironment } from './storageFromEnvironment.ts';

const { values } = parseArgs({
  options: { month: { type: 'string' }, apply: { type: 'boolean', default: false } },
});
const inputs = z.object({
  month: z
    .string({ error: 'expected --month YYYY-MM' })
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, { error: 'expected a month like 2026-01' }),
  cosmos: cosmosFromEnvironment,
  storage: storageFromEnvironment,
  /** No default: with a number other than the app's, no invoice would be found. */
  SHARDS: z.coerce.number().int().min(1).max(256),
});
const read = inputs.safeParse({ ...process.env, ...values, cosmos: process.env, storage: process.env });
if (!read.success) {
  console.error(z.prettifyError(read.error));
  process.exit(2);
}
const { month, cosmos, storage: blobs, SHARDS: shards } = read.data;
const client = new CosmosClient(cosmos);
const documents = cosmosDocuments(client.database(databaseName).container(containers.invoices.name));
if (values.apply) await shardsCheck(documents, shards)();
const { files, copies, restored, there } = await restoreMonth(
  {
    documents,
    blobs: blobArchive(blobs.getContainerClient(blobContainers.archive)),
    clock: systemClock,
    shards,
  },
  { month, by: `restore-archive (${userInfo().username})`, apply: values.apply },
);
client.dispose();
console.log(`${files} files with ${copies} copies of invoices`);
console.log(`${restored} ${values.apply ? '' : 'to be '}restored, ${there} there already`);
