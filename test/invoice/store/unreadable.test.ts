import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OnUnreadable, Unreadable } from '../../../src/documents/storedDocuments.ts';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { anInvoice } from '../../support/anInvoice.ts';
import { type PayonceCosmos, payonceCosmos } from '../../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

function store(onUnreadable?: OnUnreadable) {
  const report = onUnreadable === undefined ? {} : { onUnreadable };
  return cosmosInvoiceStore(cosmos.containers.invoices, { clock: systemClock, shards: 1, ...report });
}

describe('a document that cannot be read', () => {
  const shard = '07';
  beforeAll(async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      const { _etag, ...content } = anInvoice({ id, shard });
      const broken = id === 'a' || id === 'b' || id === 'd' ? { attempts: 'three' } : {};
      await cosmos.containers.invoices.items.create({ ...content, ...broken });
    }
  });

  test.each([1, 2, 100])('hides no other, and the pages end (of %i)', async (pageSize) => {
    const found: Unreadable[] = [];
    const onUnreadable = (one: Unreadable) => void found.push(one);
    const now = '2026-02-01T00:00:00.000Z';
    const pages = await Array.fromAsync(store(onUnreadable).due({ shard, now, pageSize }));
    expect(pages.flat().map(({ id }) => id)).toEqual(['c', 'e']);
    expect(pages).not.toContainEqual([]);
    expect(found.map(({ id }) => id)).toEqual(['a', 'b', 'd']);
    expect(found[0]).toMatchObject({ type: 'invoice', problem: expect.stringMatching(/^attempts: /) });
  });

  test('is not in a list', async () => {
    const { items } = await store().list({ pageSize: 10 });
    expect(items.map(({ id }) => id).toSorted()).toEqual(['c', 'e']);
  });
});
