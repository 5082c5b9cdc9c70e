import { describe, expect, test } from 'vitest';
import { newFence } from '../../../../packages/jobs/src/claims/fence.ts';
import { continuationAt } from '../../../../packages/jobs/src/documents/pages.ts';
import { formatVersion } from '../../../../packages/jobs/src/documents/storedDocuments.ts';
import { newOutboxMessage } from '../../../../packages/jobs/src/outbox/messageMoves.ts';
import { reversalsOf } from '../../../../src/invoice/reversals.ts';
import type { InvoiceFilter, InvoiceStore } from '../../../../src/invoice/store/invoiceStore.ts';
import { aClaimedInvoice, anInvoice } from '../../../support/anInvoice.ts';
import { addAll } from '../../../support/importing.ts';
import { contentsOf, type InvoiceContract, idsOf, iso, shard } from './world.ts';

/** Looking invoices up, listing and counting them. */
export function readsContract({ world }: InvoiceContract): void {
  describe('find', () => {
    test('an invoice by its id, whatever its shard', async () => {
      const { invoices } = await world({ shards: 4 });
      const contents = contentsOf(8);
      await addAll(invoices, contents, { by: 'importer', withinMs: 60_000 });
      for (const content of contents) expect(await invoices.find(content.id)).toMatchObject(content);
    });

    test.each(['missing', '', 'a/b', 'a?b', 'a#b', 'a\\b', 'blank ', 'x'.repeat(2_000), '\ud800'])(
      'nothing for an id that no invoice has: "%s"',
      async (id) => {
        const { invoices } = await world();
        expect(await invoices.find(id)).toBeUndefined();
      },
    );

    test('nothing for the id of another kind of document', async () => {
      const { invoices, create } = await world();
      await create(newOutboxMessage({ id: 'm1', shard, destination: 'work-items', body: [] }, 0));
      expect(await invoices.find('m1')).toBeUndefined();
    });

    test('an invoice of a newer release is for newer processes; a broken one is an error', async () => {
      const { invoices, put } = await world();
      await put({ id: 'newer', version: formatVersion + 1 }, { id: 'broken', attempts: 0.5 });
      await expect(invoices.find('newer')).rejects.toMatchObject({ name: 'NewerVersion' });
      await expect(invoices.find('broken')).rejects.toThrow(/attempts/);
    });
  });

  describe('a list by due dates', () => {
    test.each([1, 2, 10])('in its order, %i a page, with ties', async (pageSize) => {
      const { invoices, put } = await world({ shards: 4 });
      await put(...[3, 1, 2, 2, 2, 5].map((day, n) => ({ id: `inv-${n}`, dueAt: iso(day * 86_400_000) })));
      const found: string[] = [];
      let continuation: string | undefined;
      do {
        const next = continuation === undefined ? {} : { continuation };
        const page = await invoices.listByDue({
          order: 'DESC',
          dueBefore: iso(4 * 86_400_000),
          pageSize,
          ...next,
        });
        found.push(...idsOf(page.items));
        ({ continuation } = page);
      } while (continuation !== undefined);
      expect(found.at(0)).toBe('inv-0');
      expect(found.at(-1)).toBe('inv-1');
      expect(found.toSorted()).toEqual(['inv-0', 'inv-1', 'inv-2', 'inv-3', 'inv-4']);
    });
  });

  describe('totals', () => {
    test('the count and the sums by currency of what matches, as far as they are read', async () => {
      const { invoices, put } = await world({ shards: 4 });
      await put(
        { id: 'a', currency: 'EUR', amountMinor: 100 },
        { id: 'b', currency: 'EUR', amountMinor: 50 },
        { id: 'c', currency: 'JPY', amountMinor: 7 },
        { id: 'd', currency: 'EUR', amountMinor: 1, status: 'paid' },
      );
      const { sums, ...rest } = await invoices.totals({ status: 'pending' }, 10);
      expect(rest).toMatchObject({ count: 3, isExact: true });
      expect(sums.toSorted((one, other) => one.currency.localeCompare(other.currency))).toEqual([
        { currency: 'EUR', count: 2, amountMinor: 150 },
        { currency: 'JPY', count: 1, amountMinor: 7 },
      ]);
      expect(await invoices.totals({ currency: 'EUR' }, 3)).toMatchObject({ count: 3, isExact: true });
      expect(await invoices.totals({}, 3)).toMatchObject({ count: 3, isExact: false });
    });
  });

  describe('a search', () => {
    async function found(invoices: InvoiceStore, text: string): Promise<Record<string, readonly string[]>> {
      const { groups, customers } = await invoices.search(text);
      const named = groups.map(({ kind, invoices: some }) => [kind, idsOf(some).toSorted()] as const);
      const all = [...named, ['customers', [...customers]] as const].filter(([, some]) => some.length > 0);
      return Object.fromEntries(all);
    }

    test('finds the beginning of an id, a customer and words of a description, without regard to case', async () => {
      const { invoices } = await world({ shards: 4 });
      const [content] = contentsOf(1);
      const of = (id: string, customerId: string, description: string) => ({
        ...content,
        id,
        customerId,
        description,
        amountMinor: 31_084,
        currency: 'BRL',
        dueAt: iso(0),
      });
      const contents = [
        of('INV-2026-1', 'cus_RioVerde', 'Domain renewal, 11/2026'),
        of('INV-2026-2', 'cus_HarborDental', 'Übersetzung: domains and more'),
        of('other', 'cus_Rio', '“Quoted” * % _ text'),
      ];
      await addAll(invoices, contents, { by: 'importer', withinMs: 60_000 });
      const both = ['INV-2026-1', 'INV-2026-2'];
      expect(await found(invoices, 'inv-2026')).toEqual({ invoice: both });
      expect(await found(invoices, 'CUS_RIO')).toEqual({ customers: ['cus_Rio', 'cus_RioVerde'] });
      expect(await found(invoices, 'dOmain')).toEqual({ description: both });
      expect(await found(invoices, 'domain ren')).toEqual({ description: ['INV-2026-1'] });
      expect(await found(invoices, 'übers')).toEqual({ description: ['INV-2026-2'] });
      expect(await found(invoices, '%')).toEqual({});
      expect(await found(invoices, 'main')).toEqual({});
      for (const text of ['310.84', '310.84 brl'])
        expect(await found(invoices, text)).toEqual({ amount: [...both, 'other'] });
      expect(await found(invoices, '310.84 EUR')).toEqual({});
      expect(await found(invoices, "' OR 1=1 --")).toEqual({});
    });

    test('finds the beginning of a payment id, and says that there is more', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const payment = { keyNumber: 1, declines: 0, deferrals: 0 };
      await put(
        ...Array.from({ length: 9 }, (_, n) => ({ id: `i${n}`, payment: { ...payment, id: `pi_${n}` } })),
      );
      expect(await found(invoices, 'pi_7')).toEqual({ payment: ['i7'] });
      const { groups } = await invoices.search('pi_');
      expect(groups.find(({ kind }) => kind === 'payment')).toMatchObject({ hasMore: true });
    });
  });

  describe('list', () => {
    /** The ids of all pages; `between` runs after each. */
    async function all(
      invoices: InvoiceStore,
      query: InvoiceFilter & { pageSize: number },
      between: (seen: readonly string[]) => unknown = () => {},
    ): Promise<string[]> {
      const found: string[] = [];
      let continuation: string | undefined;
      do {
        const next = continuation === undefined ? {} : { continuation };
        const page = await invoices.list({ ...query, ...next });
        expect(page.items.length).toBeLessThanOrEqual(query.pageSize);
        found.push(...idsOf(page.items));
        await between(found);
        ({ continuation } = page);
      } while (continuation !== undefined);
      return found.toSorted();
    }

    test.each([1, 3, 100])('every invoice of all shards once, %i a page', async (pageSize) => {
      const { invoices, put, create } = await world({ shards: 4 });
      const ids = Array.from({ length: 7 }, (_, n) => `inv-${n}`);
      await put(
        ...ids.map((id, n) => ({ id, status: n % 3 === 0 ? ('paid' as const) : ('pending' as const) })),
      );
      await create(newOutboxMessage({ id: 'm1', shard: '00', destination: 'work-items', body: [] }, 0));
      await create({ ...newFence('lock', '01').document, shard: '01' });
      expect(await all(invoices, { pageSize })).toEqual(ids);
      expect(await all(invoices, { pageSize, status: 'paid' })).toEqual(['inv-0', 'inv-3', 'inv-6']);
      expect(await all(invoices, { pageSize, status: 'parked' })).toEqual([]);
    });

    test('in the order of shard and id', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const ids = ['b', 'a', 'inv-10', 'inv-9', 'é', 'Z', '=1+1', "o'clock", 'x y', 'ｅ', '😀'];
      await put(...ids.map((id) => ({ id })));
      const { items } = await invoices.list({ pageSize: 100 });
      expect(idsOf(items).toSorted()).toEqual(ids.toSorted());
      const shards = items.map((one) => one.shard);
      expect(shards).toEqual(shards.toSorted());
      expect(await all(invoices, { pageSize: 1 })).toEqual(ids.toSorted());
    });

    test('only what matches every part of the filter', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const noon = '2026-01-01T12:00:00.000Z';
      const later = '2026-01-01T12:00:00.001Z';
      await put(
        { id: 'a', customerId: 'one', currency: 'EUR', status: 'paid', dueAt: noon },
        { id: 'b', customerId: 'one', currency: 'EUR', status: 'pending', dueAt: later },
        { id: 'c', customerId: 'one', currency: 'USD', status: 'paid', dueAt: later },
        { id: 'd', customerId: 'two', currency: 'EUR', status: 'paid', dueAt: noon },
      );
      const found = (filter: InvoiceFilter) => all(invoices, { ...filter, pageSize: 1 });
      expect(await found({ customer: 'one' })).toEqual(['a', 'b', 'c']);
      expect(await found({ customer: 'one', currency: 'EUR' })).toEqual(['a', 'b']);
      expect(await found({ customer: 'one', currency: 'EUR', status: 'paid' })).toEqual(['a']);
      expect(await found({ dueAfter: later })).toEqual(['b', 'c']);
      expect(await found({ dueBefore: later })).toEqual(['a', 'd']);
      expect(await found({ dueAfter: noon, dueBefore: later, currency: 'EUR' })).toEqual(['a', 'd']);
      expect(await found({ dueAfter: later, dueBefore: noon })).toEqual([]);
      expect(await found({ customer: "one' OR 1=1 --" })).toEqual([]);
    });

    test('those that are refunded, disputed, or wait for a later try', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const [at, later] = [iso(0), '2099-01-01T00:00:00.000Z'];
      const refunded = reversalsOf(
        [{ id: 'r', providerId: 'r', amountMinor: 5, status: 'succeeded', at }],
        [],
      );
      const disputed = reversalsOf([], [{ id: 'd', amountMinor: 5, status: 'open', at, reason: 'fraud' }]);
      await put(
        { id: 'refunded', status: 'paid', reversals: refunded },
        { id: 'disputed', status: 'paid', reversals: disputed },
        { id: 'retry', dueAt: at, actionableAt: later },
        { id: 'due', dueAt: at, actionableAt: at },
        { id: 'later', dueAt: later, actionableAt: later },
      );
      expect(await all(invoices, { pageSize: 1, only: 'refunded' })).toEqual(['refunded']);
      expect(await all(invoices, { pageSize: 1, only: 'disputed' })).toEqual(['disputed']);
      expect(await all(invoices, { pageSize: 1, only: 'waitsForRetry' })).toEqual(['retry']);
      expect(await all(invoices, { pageSize: 1, only: 'waitsForRetry', customer: 'nobody' })).toEqual([]);
    });

    test('those that the report counts on a day', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const [at, before] = ['2026-01-20T23:59:59.999Z', '2026-01-19T12:00:00.000Z'];
      const paid = (paidAt: string) => ({
        keyNumber: 1,
        declines: 0,
        deferrals: 0,
        id: `pi_${paidAt}`,
        paidAt,
      });
      const refund = { id: 'r', amountMinor: 5, at };
      const dispute = { id: 'd', amountMinor: 5, at, reason: 'fraud' };
      await put(
        { id: 'paid', status: 'paid', payment: paid(at) },
        { id: 'paid-before', status: 'paid', payment: paid(before) },
        { id: 'declined', status: 'declined', declinedAt: at },
        { id: 'declined-before', status: 'declined', declinedAt: before },
        {
          id: 'refunded',
          status: 'paid',
          payment: paid(before),
          reversals: reversalsOf([{ ...refund, status: 'pending' }], []),
        },
        {
          id: 'not-refunded',
          status: 'paid',
          reversals: reversalsOf(
            [
              { ...refund, status: 'failed' },
              { ...refund, id: 'r2', at: before, status: 'succeeded' },
            ],
            [],
          ),
        },
        { id: 'disputed', status: 'paid', reversals: reversalsOf([], [{ ...dispute, status: 'open' }]) },
        { id: 'lost', status: 'paid', reversals: reversalsOf([], [{ ...dispute, status: 'lost' }]) },
        { id: 'won', status: 'paid', reversals: reversalsOf([], [{ ...dispute, status: 'won' }]) },
      );
      const found = (counted: InvoiceFilter['counted'], more: InvoiceFilter = {}) =>
        all(invoices, { pageSize: 1, ...more, ...(counted === undefined ? {} : { counted }) });
      expect(await found('paid:2026-01-20')).toEqual(['paid']);
      expect(await found('declined:2026-01-20')).toEqual(['declined']);
      expect(await found('refunded:2026-01-20')).toEqual(['refunded']);
      expect(await found('disputed:2026-01-20')).toEqual(['disputed', 'lost']);
      expect(await found('disputeLost:2026-01-20')).toEqual(['lost']);
      expect(await found('paid:2026-01-19')).toEqual(['paid-before', 'refunded']);
      expect(await found('paid:2026-01-19', { currency: 'JPY' })).toEqual([]);
    });

    test('those that a run has claimed or changed', async () => {
      const { invoices, put } = await world({ shards: 4 });
      const entry = (runId: string) => ({ at: iso(0), what: 'claimed', by: 'host-1', runId });
      await put(
        { id: 'one', timeline: [entry('run-1')] },
        { id: 'both', timeline: [entry('run-1'), entry('run-2')] },
        { id: 'none', timeline: [{ at: iso(0), what: 'imported', by: 'run-1' }] },
      );
      expect(await all(invoices, { pageSize: 1, run: 'run-1' })).toEqual(['both', 'one']);
      expect(await all(invoices, { pageSize: 1, run: 'run-2' })).toEqual(['both']);
      expect(await all(invoices, { pageSize: 1, run: 'run-1', status: 'paid' })).toEqual([]);
    });

    test.each([1, 2, 5])(
      'what others change between two pages of %i neither hides nor repeats an invoice that matches throughout',
      async (pageSize) => {
        const { invoices, put, touch } = await world({ shards: 4 });
        const ids = Array.from({ length: 24 }, (_, n) => `inv-${String(n).padStart(2, '0')}`);
        const stays = (id: string) => Number(id.slice(4)) % 3 !== 0;
        await put(...ids.map((id) => ({ id })));
        let page = 0;
        const found = await all(invoices, { status: 'pending', pageSize }, async (seen) => {
          page++;
          // Those that stay pending get other due dates and other contents, seen or not. One more is imported.
          for (const id of ids) {
            if (stays(id)) {
              await touch(id, {
                dueAt: iso(page * 86_400_000 * (seen.includes(id) ? 1 : 300)),
                touched: page,
              });
            }
          }
          const leaves = ids.filter((id) => !stays(id))[page % 8];
          if (leaves !== undefined) await touch(leaves, { status: page % 2 === 0 ? 'pending' : 'paid' });
          if (page < 5) await put({ id: `new-${page}` });
        });
        const throughout = ids.filter(stays);
        expect(found.filter((id) => throughout.includes(id))).toEqual(throughout);
        expect(new Set(found).size).toBe(found.length);
      },
    );

    test('a last page has no continuation', async () => {
      const { invoices, put } = await world();
      await put({ id: 'inv-1' });
      expect(await invoices.list({ pageSize: 10 })).toEqual({ items: [expect.anything()] });
      expect(await invoices.list({ pageSize: 1 })).toEqual({ items: [expect.anything()] });
    });

    test('what cannot be read is left out', async () => {
      const { invoices, put } = await world();
      await put(
        { id: 'newer', version: formatVersion + 1 },
        { id: 'a' },
        { id: 'broken', attempts: 0.5 },
        { id: 'b' },
      );
      expect(await all(invoices, { pageSize: 1 })).toEqual(['a', 'b']);
      expect(await all(invoices, { pageSize: 100 })).toEqual(['a', 'b']);
    });

    test.each([
      'nonsense',
      '!',
      continuationAt({ not: 'ours' }),
      continuationAt({ shard: 'xx', id: 'a' }),
      continuationAt('ü'),
    ])('refuses a continuation that it did not give: %s', async (continuation) => {
      const { invoices, put } = await world();
      await put({ id: 'a' });
      await expect(invoices.list({ pageSize: 1, continuation })).rejects.toMatchObject({
        name: 'BadContinuation',
      });
    });
  });

  describe('payments in progress', () => {
    const inProgress = (id: string, checkAt: string, since: string) => ({
      id,
      status: 'processing' as const,
      checkAt,
      payment: {
        ...anInvoice().payment,
        inProgress: { id: `pi_${id}`, state: 'processing', since, checks: 0 },
      },
    });

    test('those whose check is due, longest due first, over all shards, as many as asked for', async () => {
      const { invoices, put, clock } = await world({ shards: 4 });
      const now = clock.now();
      await put(
        { ...inProgress('second', iso(now - 1_000), iso(now - 60_000)), shard: '01' },
        { ...inProgress('first', iso(now - 2_000), iso(now - 50_000)), shard: '03' },
        { ...inProgress('third', iso(now), iso(now - 40_000)), shard: '02' },
        inProgress('later', iso(now + 1), iso(now - 70_000)),
        { id: 'due', actionableAt: iso(now - 5_000) },
      );
      const ids = async (limit: number) =>
        (await invoices.toCheck({ now: iso(now), limit })).map(({ id }) => id);
      expect(await ids(10)).toEqual(['first', 'second', 'third']);
      expect(await ids(2)).toEqual(['first', 'second']);
      expect(await invoices.inProgressSince()).toBe(iso(now - 70_000));
    });

    test('none', async () => {
      const { invoices, put, clock } = await world({ shards: 4 });
      await put({ id: 'pending-1' });
      expect(await invoices.toCheck({ now: iso(clock.now()), limit: 10 })).toEqual([]);
      expect(await invoices.inProgressSince()).toBeUndefined();
    });
  });

  describe('figures', () => {
    test('of an empty store', async () => {
      const { invoices, clock } = await world({ shards: 4 });
      expect(await invoices.counts(iso(clock.now()))).toEqual({
        byStatus: new Map(),
        staleClaims: 0,
        charges: 0,
        refunded: [],
        overdueRefunds: 0,
        openDisputes: [],
        archived: 0,
      });
      expect(await invoices.parkedCount()).toBe(0);
      expect(await invoices.unknownSince()).toBeUndefined();
    });

    test('of all shards', async () => {
      const { invoices, put, create, clock } = await world({ shards: 4 });
      const now = clock.now();
      const { payment } = anInvoice();
      const charged = { ...payment, id: 'pi_1', paidAt: iso(now) };
      const since = (minutes: number) => ({ ...payment, unknownSince: iso(now - minutes * 60_000) });
      await put(
        { id: 'pending-1' },
        { id: 'pending-2', payment: since(1) },
        aClaimedInvoice({ id: 'stale', actionableAt: iso(now), payment: since(3), shard: '01' }),
        aClaimedInvoice({ id: 'fresh', actionableAt: iso(now + 1), shard: '02' }),
        { id: 'paid-1', status: 'paid', payment: charged, shard: '03' },
        { id: 'paid-2', status: 'paid', payment: charged },
        { id: 'parked-1', status: 'parked', payment: since(2) },
        { id: 'parked-2', status: 'parked', shard: '03' },
        { id: 'newer', status: 'declined', version: formatVersion + 1 },
      );
      const message = newOutboxMessage({ id: 'm1', shard, destination: 'work-items', body: [] }, 0);
      await create({ ...message, status: 'parked' });
      expect(await invoices.counts(iso(now))).toEqual({
        byStatus: new Map([
          ['pending', 2],
          ['claimed', 2],
          ['paid', 2],
          ['parked', 2],
          ['declined', 1],
        ]),
        staleClaims: 1,
        charges: 2,
        refunded: [],
        overdueRefunds: 0,
        openDisputes: [],
        archived: 0,
      });
      expect(await invoices.parkedCount()).toBe(2);
      expect(await invoices.parkedByReason()).toEqual(new Map([['no reason given', 2]]));
      expect(await invoices.unknownSince()).toBe(iso(now - 180_000));
    });

    test('of refunds and open disputes, by currency', async () => {
      const { invoices, put, clock } = await world({ shards: 4 });
      const at = '2026-01-01T00:00:00.000Z';
      const refund = (amountMinor: number, status: 'succeeded' | 'pending' | 'failed') => ({
        id: `r${amountMinor}`,
        amountMinor,
        status,
        at,
      });
      const dispute = (amountMinor: number, status: 'open' | 'won' | 'lost') => ({
        id: `d${amountMinor}`,
        amountMinor,
        status,
        at,
        reason: 'fraudulent',
      });
      const paid = { status: 'paid' } as const;
      await put(
        { id: 'a', ...paid, reversals: reversalsOf([refund(100, 'succeeded'), refund(20, 'pending')], []) },
        { id: 'b', ...paid, reversals: reversalsOf([refund(7, 'succeeded')], [dispute(30, 'open')]) },
        { id: 'c', ...paid, currency: 'EUR', reversals: reversalsOf([refund(5, 'failed')], []) },
        {
          id: 'd',
          ...paid,
          currency: 'EUR',
          reversals: reversalsOf([], [dispute(1, 'won'), dispute(2, 'lost')]),
        },
        {
          id: 'e',
          ...paid,
          currency: 'EUR',
          reversals: reversalsOf([], [dispute(3, 'open'), dispute(4, 'open')]),
        },
        { id: 'f', ...paid },
      );
      expect(await invoices.counts(iso(clock.now()))).toMatchObject({
        refunded: [{ currency: 'USD', count: 2, amountMinor: 127 }],
        openDisputes: [
          { currency: 'EUR', count: 2, amountMinor: 7 },
          { currency: 'USD', count: 1, amountMinor: 30 },
        ],
      });
    });
  });
}
