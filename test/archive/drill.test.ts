// The restore drill of docs/retention.md.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { restoreMonth } from '../../scripts/restoreMonth.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { addUp } from '../../src/ops/report.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { restlessClock } from '../support/restlessClock.ts';
import { runProgram } from '../support/runProgram.ts';
import { dayMs, paidInvoice } from './archiveWorld.ts';

const shards = { before: 4, after: 16 };
const ids = Array.from({ length: 130 }, (_, n) => `inv-${n}`);
const year = { from: '2024-01-01', to: '2024-12-31' };
let ops: OpsForTests;
let fresh: PayonceCosmos;
beforeAll(async () => {
  ops = await opsForTests();
  fresh = await payonceCosmos();
  ops.clock.stall(30 * 365 * dayMs);
});
afterAll(async () => {
  await ops[Symbol.asyncDispose]();
  await fresh[Symbol.asyncDispose]();
});

test('one invoice comes back, and a month of them into a new account, with another number of shards', async () => {
  await ops.put(...ids.map((id) => paidInvoice({ id, shard: shardOf(id, shards.before) })));
  await ops.archiveSettled();
  const month = new Date(ops.clock.now()).toISOString().slice(0, 7);
  const kept = bodyOf(await ops.api.getReport(aRequest({ query: year })));

  // One invoice; it changes, and is archived again later, so there are two copies of it.
  const body = { reason: 'drill' };
  const restored = await ops.api.restoreInvoice(
    aRequest({ method: 'POST', params: { id: 'inv-5' }, body, headers: principal }),
  );
  expect(bodyOf(restored)).toMatchObject({ id: 'inv-5', status: 'paid', archivedAt: null });
  ops.clock.stall(401 * dayMs);
  expect(await ops.archiveSettled()).toMatchObject({ moved: 1 });
  const later = new Date(ops.clock.now()).toISOString().slice(0, 7);

  // A month, into a new account.
  const clock = restlessClock(ops.clock);
  const documents = cosmosDocuments(fresh.containers.invoices);
  const { blobs } = ops.archivePorts;
  const parts = { documents, blobs, clock, shards: shards.after };
  const restore = (of: string, apply: boolean) => restoreMonth(parts, { month: of, by: 'drill', apply });
  expect(await restore(month, false)).toMatchObject({ copies: 130, restored: 130 });
  expect(await restore(later, true)).toMatchObject({ files: 1, copies: 1, restored: 1, there: 0 });
  expect(await restore(month, true)).toMatchObject({ copies: 130, restored: 129, there: 1 });
  expect(await restore(month, true)).toMatchObject({ restored: 0, there: 130 });

  const invoices = cosmosInvoiceStore(fresh.containers.invoices, { clock, shards: shards.after });
  for (const id of ids)
    expect(await invoices.find(id)).toMatchObject({ status: 'paid', shard: shardOf(id, 16) });
  // The newest copy counts: it says that the invoice was restored before.
  const { timeline } = (await invoices.find('inv-5')) ?? {};
  expect(timeline?.filter(({ what }) => what === 'restored from the archive')).toHaveLength(2);
  const { days } = addUp((await invoices.dayCounts(year)).counts);
  expect(days).toMatchObject([{ day: '2024-01-01', currency: 'USD', paid: { count: 130 } }]);
  expect(kept).toMatchObject({ days: [{ day: '2024-01-01', paid: { count: 130 } }] });
});

test('the command names what is wrong with its arguments', async () => {
  const program = fileURLToPath(new URL('../../scripts/restoreArchive.ts', import.meta.url));
  const { code, output } = await runProgram(program, ['--month', '2026-13'], { PATH: process.env.PATH });
  expect(code).toBe(2);
  expect(output).toMatch(/a month like 2026-01[\s\S]*Cosmos[\s\S]*AzureWebJobsStorage[\s\S]*SHARDS/);
});
