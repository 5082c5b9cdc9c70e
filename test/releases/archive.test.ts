// The newest kept release next to invoices that have moved to the archive, which it does not know.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveSettled } from '../../src/archive/archiveSettled.ts';
import { blobArchive } from '../../src/archive/blobArchive.ts';
import { cosmosArchiveStore } from '../../src/archive/cosmosArchiveStore.ts';
import { cosmosDocuments } from '../../src/documents/cosmosDocuments.ts';
import { blobContainers } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { noTelemetry } from '../../src/platform/telemetry.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { restlessClock } from '../support/restlessClock.ts';
import { until } from '../support/until.ts';
import { type CloudView, viewOf } from './cloudView.ts';
import { getFrom, importInvoices, postTo, run, startHost } from './hosts.ts';
import { keptRelease } from './releases.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-archive-'));
const stack = new AsyncDisposableStack();
let cloud: LocalCloud;
let view: CloudView;
let kept = '';

beforeAll(async () => {
  kept = keptRelease(folder);
  cloud = stack.use(await startLocalCloud());
  view = viewOf(cloud);
}, 90_000);
afterAll(async () => {
  await stack.disposeAsync();
  await removeFolder(folder);
}, 30_000);

test('the kept release neither stores nor pays an archived invoice again', { timeout: 60_000 }, async () => {
  const host = stack.use(await startHost(cloud, kept, 'kept'));
  const ids = await importInvoices(host, 'old', 4);
  await run(host, 'processInvoices');
  await until(
    () => view.statusesOf('old'),
    ({ paid }) => paid === ids.length,
  );
  // Until the last receipt is dispatched, its invoice stays.
  await until(
    async () => {
      await archive();
      return view.statusesOf('old');
    },
    (statuses) => Object.keys(statuses).length === 0,
  );

  const row = {
    customerId: 'cus_1',
    currency: 'USD',
    dueAt: '2025-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };
  const again = [
    { ...row, id: 'old-0', amountMinor: 100 },
    { ...row, id: 'new-0', amountMinor: 100 },
  ];
  const imported = await (await postTo(`${host.address}/api/ops/invoices`, again)).json();
  expect(imported).toMatchObject({
    created: 1,
    rejected: [{ index: 0, field: 'id', error: '"old-0" is the id of something else here' }],
  });
  await run(host, 'processInvoices');
  await until(
    () => view.statusesOf('new'),
    ({ paid }) => paid === 1,
  );
  expect(await getFrom(host, 'invoices/old-0')).toMatchObject({ status: 404 });
  const charges = (await (await fetch(`${cloud.payments}/_local/charges`)).json()) as { invoiceId: string }[];
  expect(charges.map(({ invoiceId }) => invoiceId).toSorted()).toEqual(['new-0', ...ids].toSorted());
});

/** A run of the archive, 401 days later. */
async function archive(): Promise<void> {
  const container = cloud.cosmosClient.database(databaseName).container(containers.invoices.name);
  const clock = restlessClock({ now: () => Date.now() + 401 * 86_400_000 });
  await archiveSettled(
    {
      documents: cosmosDocuments(container),
      store: cosmosArchiveStore(container),
      blobs: blobArchive(cloud.blobs.getContainerClient(blobContainers.archive)),
      poison: { list: async () => [] },
      shards: 2,
      keepDays: 400,
      instance: { clock, telemetry: noTelemetry },
    },
    { assertHeld() {} },
    new AbortController().signal,
  );
}
