import { describe, expect, test } from 'vitest';
import { formatVersion } from '../../../../packages/jobs/src/documents/storedDocuments.ts';
import type { Invoice } from '../../../../src/invoice/invoice.ts';
import { aClaimedInvoice, anInvoice } from '../../../support/anInvoice.ts';
import { type InvoiceContract, idsOf, iso, shard } from './world.ts';

/** Reading what there is to do. */
export function dueContract({ world }: InvoiceContract): void {
  describe('due', () => {
    test('invoices of the shard that are pending and due or claimed and stale, longest waiting first', async () => {
      const { put, due, clock } = await world();
      const now = clock.now();
      const claim = aClaimedInvoice();
      await put(
        { id: 'now', actionableAt: iso(now) },
        { id: 'later', actionableAt: iso(now + 1) },
        { id: 'first', actionableAt: iso(now - 3_000) },
        { ...claim, id: 'stale', actionableAt: iso(now - 1_000) },
        { ...claim, id: 'fresh', actionableAt: iso(now + 60_000) },
        { id: 'second', actionableAt: iso(now - 2_000) },
        { id: 'elsewhere', shard: '01', actionableAt: iso(now - 1_000) },
      );
      expect(idsOf(await due())).toEqual(['first', 'second', 'stale', 'now']);
    });

    test('how many wait and since when, and how many are claimed and not stale', async () => {
      const { put, invoices, clock } = await world();
      const now = clock.now();
      const claim = aClaimedInvoice();
      await put(
        { id: 'due', actionableAt: iso(now) },
        { id: 'later', actionableAt: iso(now + 60_000) },
        { ...claim, id: 'stale', actionableAt: iso(now - 1_000) },
        { ...claim, id: 'fresh', actionableAt: iso(now + 60_000) },
      );
      expect(await invoices.openClaims(iso(now))).toBe(1);
      expect(await invoices.backlog(iso(now))).toEqual({ waiting: 2, claimed: 1, since: iso(now - 1_000) });
      expect(await invoices.backlog(iso(now - 2_000))).toEqual({ waiting: 0, claimed: 2 });
    });

    test('what should have been paid by now, and since when', async () => {
      const { put, invoices, clock } = await world();
      const now = clock.now();
      const overdue = () => invoices.overdue(iso(now));
      const key = { keyNumber: 1, declines: 0, deferrals: 0 };
      const claim = aClaimedInvoice();
      expect(await overdue()).toEqual({ count: 0 });
      const early = { dueAt: iso(now - 90_000), createdAt: iso(now - 100_000) };
      await put(
        { ...early, id: 'waits for its due date', dueAt: iso(now + 60_000), actionableAt: iso(now + 60_000) },
        { ...early, id: 'declined', actionableAt: iso(now + 3_600_000), payment: { ...key, keyNumber: 2 } },
        {
          ...early,
          id: 'moved to next month',
          dueAt: iso(now + 60_000),
          actionableAt: iso(now + 60_000),
          payment: { ...key, keyCreatedAt: iso(now - 80_000) },
        },
      );
      expect(await overdue()).toEqual({ count: 0 });
      await put(
        { ...early, id: 'due', actionableAt: iso(now - 50_000) },
        { ...early, id: 'imported late', createdAt: iso(now - 1_000), actionableAt: iso(now - 90_000) },
      );
      expect(await overdue()).toEqual({ count: 2, dueSince: iso(now - 50_000) });
      await put(
        {
          ...early,
          ...claim,
          id: 'claimed',
          actionableAt: iso(now + 60_000),
          payment: { ...key, keyCreatedAt: iso(now - 20_000) },
        },
        {
          ...early,
          id: 'tried again later',
          actionableAt: iso(now + 900_000),
          payment: { ...key, keyCreatedAt: iso(now - 40_000), deferrals: 9 },
        },
      );
      expect(await overdue()).toEqual({
        count: 4,
        claimedSince: iso(now - 40_000),
        dueSince: iso(now - 50_000),
      });
    });

    test('settled invoices never are', async () => {
      const { create, due } = await world();
      for (const status of ['paid', 'declined', 'parked'] as const) {
        const { actionableAt: _, _etag, ...document } = anInvoice({ id: status, status, shard });
        await create(document);
      }
      expect(await due()).toEqual([]);
    });

    test.each([1, 2, 5, 100])('in pages of at most %i, none of them empty', async (pageSize) => {
      const { invoices, put, clock } = await world();
      await put(...Array.from({ length: 5 }, (_, n) => ({ id: `inv-${n}` })));
      const pages = await Array.fromAsync(invoices.due({ shard, now: iso(clock.now()), pageSize }));
      expect(pages.map((page) => page.length)).toEqual(
        Array.from({ length: Math.ceil(5 / pageSize) }, (_, n) => Math.min(pageSize, 5 - n * pageSize)),
      );
      expect(idsOf(pages.flat()).toSorted()).toEqual(['inv-0', 'inv-1', 'inv-2', 'inv-3', 'inv-4']);
    });

    test('claiming each page before the next leaves none out', async () => {
      const { invoices, put, claim, due, clock } = await world();
      await put(...Array.from({ length: 7 }, (_, n) => ({ id: `inv-${n}` })));
      let claimed = 0;
      for await (const page of invoices.due({ shard, now: iso(clock.now()), pageSize: 2 })) {
        const { written } = await claim(`b-${claimed}`, page);
        claimed += written?.patches.length ?? 0;
      }
      expect(claimed).toBe(7);
      expect(await due()).toEqual([]);
    });

    test.each([1, 2, 100])('what cannot be read hides no other, and is reported (%i)', async (pageSize) => {
      const { put, invoices, unreadable, clock } = await world();
      for (const [id, change] of [
        ['a', { attempts: 'three' }],
        ['b', { version: formatVersion + 1 }],
        ['c', {}],
        ['d', { version: formatVersion + 1, attempts: 'three' }],
        ['e', { version: formatVersion }],
        ['f', { payment: {} }],
      ] as const) {
        await put({ id, ...(change as Partial<Invoice>) });
      }
      const pages = await Array.fromAsync(invoices.due({ shard, now: iso(clock.now()), pageSize }));
      expect(idsOf(pages.flat()).toSorted()).toEqual(['c', 'e']);
      expect(pages).not.toContainEqual([]);
      // A newer release's are neither broken nor ours.
      expect(unreadable.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([
        { type: 'invoice', id: 'a', problem: expect.stringMatching(/^attempts: /) as string },
        { type: 'invoice', id: 'f', problem: expect.stringMatching(/^payment\./) as string },
      ]);
    });
  });
}
