import { describe, expect, test } from 'vitest';
import { formatVersion } from '../../../../src/documents/storedDocuments.ts';
import type { Invoice } from '../../../../src/invoice/invoice.ts';
import { reversalsOf } from '../../../../src/invoice/reversals.ts';
import type { InvoiceStore } from '../../../../src/invoice/store/invoiceStore.ts';
import type { Movement, MovementQuery } from '../../../../src/invoice/store/movements.ts';
import { newOutboxMessage } from '../../../../src/outbox/outboxMessage.ts';
import { anInvoice } from '../../../support/anInvoice.ts';
import { type InvoiceContract, shard } from './world.ts';

const from = '2026-03-01T00:00:00.000Z';
const to = '2026-03-02T00:00:00.000Z';
const before = '2026-02-28T23:59:59.999Z';
const last = '2026-03-01T23:59:59.999Z';

export function paid(changes: Partial<Invoice> & { paidAt: string }): Partial<Invoice> {
  const { paidAt, ...rest } = changes;
  return { status: 'paid', payment: { ...anInvoice().payment, id: 'pi_1', paidAt }, ...rest };
}

/** What a report adds up. */
export function movementsContract({ world }: InvoiceContract): void {
  describe('movements', () => {
    async function all(invoices: InvoiceStore, query: Partial<MovementQuery> = {}): Promise<Movement[]> {
      const pages = await Array.fromAsync(invoices.movements({ from, to, ...query }));
      const text = (movement: Movement) => `${movement.kind} ${movement.at} ${movement.amountMinor}`;
      return pages.flat().toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
    }
    const movement = (kind: Movement['kind'], at: string, amountMinor = 1999): Movement => ({
      kind,
      at,
      currency: 'USD',
      amountMinor,
    });

    test('of an empty store there are none', async () => {
      const { invoices } = await world({ shards: 4 });
      expect(await all(invoices)).toEqual([]);
    });

    test('what was paid from the first moment on, up to the last', async () => {
      const { invoices, put, create } = await world({ shards: 4 });
      await put(
        paid({ id: 'before', paidAt: before }),
        paid({ id: 'first', paidAt: from, amountMinor: 1 }),
        paid({ id: 'last', paidAt: last, amountMinor: 2 }),
        paid({ id: 'after', paidAt: to }),
        { id: 'pending' },
      );
      await create(newOutboxMessage({ id: 'm1', shard, destination: 'work-items', body: [] }, 0));
      expect(await all(invoices)).toEqual([movement('paid', from, 1), movement('paid', last, 2)]);
    });

    test('an invoice that stands declined, by the time of that', async () => {
      const { invoices, put } = await world({ shards: 4 });
      await put(
        { id: 'a', status: 'declined', declinedAt: from, amountMinor: 1 },
        { id: 'b', status: 'declined', declinedAt: to },
        // Put back, and paid later: no longer declined.
        { id: 'e', status: 'pending', declinedAt: from },
        paid({ id: 'f', declinedAt: from, paidAt: to }),
      );
      expect(await all(invoices)).toEqual([movement('declined', from, 1)]);
    });

    test('refunds and disputes by their own times, but not those that came to nothing', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const refund = (id: string, at: string, status: 'succeeded' | 'failed', amountMinor: number) => ({
        id,
        at,
        status,
        amountMinor,
      });
      const dispute = (id: string, at: string, status: 'open' | 'won' | 'lost', amountMinor: number) => ({
        id,
        at,
        status,
        amountMinor,
        reason: 'fraudulent',
      });
      const paidAt = before;
      await put(
        paid({
          id: 'a',
          paidAt,
          reversals: reversalsOf(
            [
              refund('r1', before, 'succeeded', 1),
              refund('r2', from, 'succeeded', 2),
              refund('r3', last, 'succeeded', 3),
              refund('r4', from, 'failed', 4),
              refund('r5', to, 'succeeded', 5),
            ],
            [],
          ),
        }),
        paid({
          id: 'b',
          paidAt,
          reversals: reversalsOf(
            [],
            [
              dispute('d1', from, 'open', 1),
              dispute('d2', last, 'lost', 2),
              dispute('d3', from, 'won', 3),
              dispute('d4', to, 'lost', 4),
            ],
          ),
        }),
        paid({ id: 'c', paidAt, reversals: reversalsOf([refund('r6', before, 'succeeded', 9)], []) }),
      );
      expect(await all(invoices)).toEqual([
        movement('disputeLost', last, 2),
        movement('disputed', from, 1),
        movement('disputed', last, 2),
        movement('refunded', from, 2),
        movement('refunded', last, 3),
      ]);
    });

    test('of one currency only, if asked', async () => {
      const { invoices, put } = await world({ shards: 4 });
      await put(paid({ id: 'a', paidAt: from }), paid({ id: 'b', paidAt: from, currency: 'EUR' }));
      expect(await all(invoices, { currency: 'EUR' })).toEqual([
        { ...movement('paid', from), currency: 'EUR' },
      ]);
    });

    test('all of many', async () => {
      const { invoices, put } = await world({ shards: 4 });
      await put(
        ...Array.from({ length: 250 }, (_, n) => paid({ id: `inv-${n}`, paidAt: from, amountMinor: n + 1 })),
      );
      const found = await all(invoices);
      expect(found).toHaveLength(250);
      expect(found.reduce((sum, { amountMinor }) => sum + Number(amountMinor), 0)).toBe((250 * 251) / 2);
    });

    test('an invoice of a newer release is for newer processes; a broken one is an error that names it', async () => {
      const { invoices, put } = await world();
      await put(paid({ id: 'newer', paidAt: from, version: formatVersion + 1 }));
      await expect(all(invoices)).rejects.toMatchObject({ name: 'NewerVersion' });
      const other = await world();
      await other.put(paid({ id: 'broken', paidAt: from, amountMinor: 0.5 }));
      await expect(all(other.invoices)).rejects.toMatchObject({
        name: 'UnreadableInvoice',
        message: expect.stringContaining('"broken"'),
      });
    });
  });
}
