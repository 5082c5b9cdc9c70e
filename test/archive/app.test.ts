// The timer of the archive in whole apps, on the local cloud.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { createApp } from '../../src/app.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { aRequest, bodyOf } from '../support/opsForTests.ts';
import { dayMs, paidInvoice } from './archiveWorld.ts';

let cloud: LocalCloud;
beforeAll(async () => {
  cloud = await startLocalCloud();
});
afterAll(() => cloud[Symbol.asyncDispose]());

test('of two instances one moves what is older than KEEP_DAYS, and both show it', async () => {
  let aheadMs = 91 * dayMs;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const settings = (name: string) =>
    readSettings({
      ...settingsFor(cloud),
      KEEP_DAYS: '90',
      SHARDS: '4',
      SHARD_GROUPS: '1',
      INSTANCE_ID: name,
    });
  const [one, other] = ['one', 'other'].map((name) => createApp(settings(name), { clock })) as [
    ReturnType<typeof createApp>,
    ReturnType<typeof createApp>,
  ];
  const container = cloud.cosmosClient.database(databaseName).container(containers.invoices.name);
  for (let n = 0; n < 30; n++) {
    const { _etag, ...invoice } = paidInvoice({ id: `inv-${n}`, shard: shardOf(`inv-${n}`, 4) });
    await container.items.create(invoice);
  }
  const tick = () => Promise.all([one, other].map((app) => app.archiveInvoices()));
  await tick();
  aheadMs += 3_600_000;
  const ticks = await tick();
  // The second one finds the lease held, or comes when nothing is left.
  expect(ticks.map((run) => run?.moved ?? 0).toSorted((a, b) => a - b)).toEqual([0, 30]);
  for (const app of [one, other]) {
    const shown = bodyOf(await app.ops.getInvoice(aRequest({ params: { id: 'inv-7' } })));
    expect(shown).toMatchObject({ status: 'paid', archivedAt: expect.any(String) });
  }
  const locks = bodyOf(await one.ops.listLocks(aRequest())) as { locks: { key: string }[] };
  expect(locks.locks.map(({ key }) => key)).toContain('jobs/archive-invoices');
  await Promise.all([one.stop(), other.stop()]);
});
