// The erasure of a customer whose invoices were restored from the archive with another number of SHARDS.
import { expect, test } from 'vitest';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';
import { restoreMonth } from '../../scripts/restoreMonth.ts';
import { archiveSettled } from '../../src/archive/archiveSettled.ts';
import { customers } from '../../src/archive/customers.ts';
import { restoreInvoice } from '../../src/archive/restoreInvoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { memoryArchiveBlobs, memoryArchiveStore } from '../memory/memoryArchive.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { putCounted } from '../support/putCounted.ts';
import { restlessClock } from '../support/restlessClock.ts';
import { dayMs, paidInvoice, tickMs } from './archiveWorld.ts';

const person = 'cus_zoe';
const ids = Array.from({ length: 10 }, (_, n) => `inv-${n}`);

/** Two databases, before and after their loss, and the archive that outlives them: each invoice is in it twice. */
async function restored() {
  const time = { now: Date.parse('2026-01-01T00:00:00.000Z') };
  const clock = restlessClock({ now: () => time.now });
  const files = new Map<string, string>();
  const before = deployment(2);
  await putCounted(
    before.documents,
    ids.map((id) => paidInvoice({ id, shard: shardOf(id, 2), customerId: person })),
    time.now,
  );
  await before.archive();
  for (const id of ids) await restoreInvoice(before, id, { by: 'ada' });
  time.now += 401 * dayMs;
  const month = new Date(time.now).toISOString().slice(0, 7);
  await before.archive();
  const after = deployment(16);
  await restoreMonth(after, { month, by: 'ada', apply: true });
  time.now += 401 * dayMs;
  return { ...after, files, text: () => [...files.values()].join('') };

  function deployment(shards: number) {
    const documents = memoryDocuments({ now: () => time.now });
    const invoices = memoryInvoiceStore(documents, { clock, shards });
    const parts = {
      documents,
      clock,
      shards,
      invoices,
      store: memoryArchiveStore(documents),
      blobs: memoryArchiveBlobs(files),
      poison: { list: async () => [] },
      writeReceipt: async () => {},
    };
    const instance = { clock, telemetry: noTelemetry };
    const archive = async () => {
      for (let tick = 0; tick < 2; tick++) {
        const run = { ...parts, keepDays: 400, instance };
        await archiveSettled(run, { assertHeld() {} }, new AbortController().signal);
        time.now += tickMs;
      }
    };
    return { ...parts, archive, erase: () => customers(parts).erase(person, 'ada') };
  }
}

test('an erasure finds the copies in the files of the shards before', async () => {
  const { erase, text } = await restored();
  expect(text().match(/cus_zoe/g)?.length).toBeGreaterThanOrEqual(2 * ids.length);
  expect(await erase()).toEqual({ erased: 10, left: [], complete: true });
  expect(text()).not.toContain(person);
});

test('it finds them once more are in the archive, even if it crashed after the files', async () => {
  const { archive, text, ...parts } = await restored();
  await archive();
  const documents = { ...parts.documents, transact: () => Promise.reject(new Error('crashed')) };
  await expect(customers({ ...parts, documents }).erase(person, 'ada')).rejects.toThrow('crashed');
  expect(await parts.erase()).toEqual({ erased: 10, left: [], complete: true });
  expect(text()).not.toContain(person);
});
