import { expect, test } from 'vitest';
import { type InvoiceArchive, withArchive } from '../../src/archive/restoreInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { archiveWorld } from './archiveWorld.ts';

/** An archive that has a copy of the invoice, as while it moves, and says what it was asked. */
async function moving() {
  const world = archiveWorld();
  await world.put({ id: 'a' });
  const copy = await world.stored.find('a');
  const asked: string[] = [];
  const archive: InvoiceArchive = {
    async find() {
      asked.push('find');
      return copy;
    },
    async restore() {
      asked.push('restore');
      throw new Error('it was never archived');
    },
  };
  return { ...world, asked, invoices: withArchive(world.stored, archive, 'host-a') };
}

const entry = { at: '2026-01-01T00:00:00.000Z', what: 'noted', by: 'host-a' };

test('an update of a stored invoice asks the archive nothing, and happens once', async () => {
  const { invoices, stored, asked } = await moving();
  const decided: Invoice[] = [];
  const updated = await invoices.update('a', {
    decide(invoice) {
      decided.push(invoice);
      return { kind: 'change', change: { entry } };
    },
  });
  expect(updated.kind).toBe('updated');
  expect(decided).toHaveLength(1);
  expect(asked).toEqual([]);
  expect((await stored.find('a'))?.timeline.filter(({ what }) => what === 'noted')).toHaveLength(1);
});

test('a refusal is that of the stored invoice: its copy is not decided on', async () => {
  const { invoices, asked } = await moving();
  const updated = await invoices.update('a', { decide: () => ({ kind: 'refuse', why: 'no' }) });
  expect(updated).toMatchObject({ kind: 'refused', why: 'no' });
  expect(asked).toEqual([]);
});

test('only what is not stored is looked for in the archive', async () => {
  const { invoices, asked } = await moving();
  expect(await invoices.find('a')).toMatchObject({ id: 'a' });
  expect(asked).toEqual([]);
  const updated = await invoices.update('b', { decide: () => ({ kind: 'refuse', why: 'no' }) });
  expect(updated).toEqual({ kind: 'refused', why: 'no' });
  expect(asked).toEqual(['find']);
});
