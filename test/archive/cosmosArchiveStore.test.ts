import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cosmosArchiveStore } from '../../src/archive/cosmosArchiveStore.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { paidInvoice } from './archiveWorld.ts';

/** The time of the service, in milliseconds: what it stamps documents with. */
let now = Date.parse('2024-01-01T00:00:00.000Z');
let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos({ now: () => now });
});
afterAll(() => cosmos[Symbol.asyncDispose]());

async function put(document: object): Promise<void> {
  now += 1_000;
  await cosmos.containers.invoices.items.create(document);
}

describe('what is settled', () => {
  test('comes longest untouched first, by the time of the last write, and what is newer stays away', async () => {
    const shard = '00';
    for (const status of invoiceStatuses) await put(paidInvoice({ id: `of-${status}`, status, shard }));
    await put({ id: 'other', type: 'tombstone', status: 'paid', shard });
    await put(paidInvoice({ id: 'elsewhere', shard: '01' }));
    now += 1_000;
    await cosmos.containers.invoices
      .item('of-paid', shard)
      .patch([{ op: 'set', path: '/description', value: 'touched' }]);
    const found = async (before: number) => {
      const query = { shard, before: new Date(before).toISOString(), pageSize: 2 };
      return (await Array.fromAsync(cosmosArchiveStore(cosmos.containers.invoices).settled(query))).map(
        (page) => page.map(({ id }) => id),
      );
    };
    expect(await found(now + 1_000)).toEqual([['of-declined', 'of-voided'], ['of-paid']]);
    expect(await found(now)).toEqual([['of-declined', 'of-voided']]);
  });

  test('is complete, though each page is gone before the next one is read', async () => {
    const shard = '02';
    for (let n = 0; n < 25; n++) await put(paidInvoice({ id: `many-${n}`, shard }));
    const seen: string[] = [];
    const query = { shard, before: new Date(now + 1_000).toISOString(), pageSize: 4 };
    for await (const page of cosmosArchiveStore(cosmos.containers.invoices).settled(query)) {
      for (const { id } of page) {
        seen.push(id);
        await cosmos.containers.invoices.item(id, shard).replace({ id, shard, type: 'tombstone' });
      }
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 25 }, (_, n) => `many-${n}`).toSorted());
  });
});

test('messages that were dispatched are not undelivered', async () => {
  const shard = '03';
  for (const status of ['pending', 'parked', 'dispatched'])
    await put({ id: status, shard, type: 'outboxMessage', status, body: [{ resourceId: status }] });
  const pages = await Array.fromAsync(cosmosArchiveStore(cosmos.containers.invoices).undelivered(shard));
  expect(pages.flat()).toEqual([[{ resourceId: 'pending' }], [{ resourceId: 'parked' }]]);
});
