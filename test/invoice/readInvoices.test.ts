import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Unreadable } from '../../src/documents/readable.ts';
import { listInvoices } from '../../src/invoice/listInvoices.ts';
import { actionableInvoices, readInvoices } from '../../src/invoice/readInvoices.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

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
    const container = cosmos.containers.invoices;
    const pages = await Array.fromAsync(
      actionableInvoices(container, { shard, now, pageSize, onUnreadable }),
    );
    expect(pages.flat().map(({ id }) => id)).toEqual(['c', 'e']);
    expect(pages).not.toContainEqual([]);
    expect(found.map(({ id }) => id)).toEqual(['a', 'b', 'd']);
    expect(found[0]).toMatchObject({ type: 'invoice', problem: expect.stringMatching(/^attempts: /) });
  });

  test('is not among those that are read by id, nor in a list', async () => {
    const read = await readInvoices(cosmos.containers.invoices, shard, ['a', 'c', 'x']);
    expect(read.map(({ id }) => id)).toEqual(['c']);
    const { items } = await listInvoices(cosmos.containers.invoices, { pageSize: 10 });
    expect(items.map(({ id }) => id).toSorted()).toEqual(['c', 'e']);
  });
});
