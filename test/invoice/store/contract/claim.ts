import { describe, expect, test } from 'vitest';
import { anInvoice } from '../../../support/anInvoice.ts';
import { claimPlan, fence, type InvoiceContract, idsOf, lostAnswers, shard, tries } from './world.ts';

/** Something was written, and nothing was left to others. */
const allClaimed = { written: {}, contended: 0 };

/** Claiming invoices as a batch, under a fence. */
export function claimContract({
  world,
  worldWithDue,
  worldWithClaimed,
  known,
  canFail,
}: InvoiceContract): void {
  describe('claim', () => {
    test('writes the invoices and their messages, and says what is stored', async () => {
      const { page, claim, read, documents, clock } = await worldWithDue(3);
      const { written, contended } = await claim('b1', page);
      expect(contended).toBe(0);
      expect(written).toEqual(claimPlan('b1')(page, clock.now()));
      expect(await documents.read(shard, ['b1'])).toMatchObject(written?.messages ?? []);
      expect(written?.messages).toHaveLength(1);
      for (const invoice of await read(...idsOf(page))) {
        expect(invoice).toMatchObject({ status: 'claimed', claim: { batchId: 'b1' }, attempts: 1 });
        expect(invoice.timeline.at(-1)).toMatchObject({ what: 'claimed', batchId: 'b1' });
      }
    });

    test('an empty list claims nothing', async () => {
      const { claim, documents } = await world();
      expect(await claim('b1', [])).toEqual({ contended: 0 });
      expect(await documents.read(shard, ['b1'])).toEqual([]);
    });

    test(
      'invoices that somebody else changed are dropped, and the others are claimed',
      known('staleVersions', async () => {
        const { page, claim, touch, read, documents } = await worldWithDue(5);
        await touch('inv-1');
        await touch('inv-3');
        const planned: string[][] = [];
        const { written, contended } = await claim('b1', [...page, anInvoice({ id: 'gone' })], {
          plan(invoices, now) {
            planned.push(idsOf(invoices));
            return claimPlan('b1')(invoices, now);
          },
        });
        expect(contended).toBe(3);
        expect(written?.patches).toHaveLength(3);
        expect(planned).toEqual([
          ['inv-0', 'inv-1', 'inv-2', 'inv-3', 'inv-4', 'gone'],
          ['inv-0', 'inv-2', 'inv-4'],
        ]);
        expect(await documents.read(shard, ['b1'])).toMatchObject([{ body: ['inv-0', 'inv-2', 'inv-4'] }]);
        const stored = await read(...idsOf(page));
        expect(stored.map(({ status }) => status)).toEqual([
          'claimed',
          'pending',
          'claimed',
          'pending',
          'claimed',
        ]);
      }),
    );

    test(
      'an invoice that is changed between the plan and the write is dropped',
      known('staleVersions', async () => {
        const { page, claim, touch, interleave, read } = await worldWithDue(3);
        interleave(() => touch('inv-1', { status: 'paid' }));
        expect(await claim('b1', page)).toMatchObject({ contended: 1 });
        expect((await read('inv-1'))[0]).toMatchObject({ status: 'paid', timeline: [{ what: 'imported' }] });
      }),
    );

    test(
      'nothing is written if all were changed',
      known('staleVersions', async () => {
        const { page, claim, touch, documents } = await worldWithDue(2);
        for (const { id } of page) await touch(id);
        expect(await claim('b1', page)).toEqual({ contended: 2 });
        expect(await documents.read(shard, ['b1'])).toEqual([]);
      }),
    );

    test(
      'of two that read the same page, each invoice is claimed by one',
      known('races', async () => {
        const { page, claim, read } = await worldWithDue(20);
        const batches = ['b1', 'b2'];
        const results = await Promise.all(batches.map((batchId) => claim(batchId, page)));
        const claimed = results.map(({ written }) => written?.patches.length ?? 0);
        expect(claimed.reduce((sum, count) => sum + count)).toBe(20);
        expect(results.reduce((sum, { contended }) => sum + contended, 0)).toBe(20);
        const stored = await read(...idsOf(page));
        expect(
          batches.map((batchId) => stored.filter((invoice) => invoice.claim?.batchId === batchId).length),
        ).toEqual(claimed);
        for (const { timeline } of stored) expect(timeline).toHaveLength(2);
      }),
    );

    test(
      'a stale claim is taken over once',
      known('staleVersions', async () => {
        const { due, claim, read } = await worldWithClaimed(3, 'calling');
        const stale = await due();
        expect(await claim('b2', stale)).toMatchObject(allClaimed);
        expect(await claim('b3', stale)).toEqual({ contended: 3 });
        for (const invoice of await read(...idsOf(stale))) expect(invoice.claim?.batchId).toBe('b2');
      }),
    );

    describe('the fence', () => {
      test('is created by the first claim of a lock in a shard', async () => {
        const { put, due, claim } = await world();
        await put({ id: 'inv-0' }, { id: 'inv-1' });
        const [first, second] = await due();
        expect(await claim('b1', first === undefined ? [] : [first])).toMatchObject(allClaimed);
        expect(await claim('b2', second === undefined ? [] : [second])).toMatchObject(allClaimed);
      });

      test('is created once by two first claims at once', async () => {
        const { put, due, claim } = await world();
        await put({ id: 'inv-0' }, { id: 'inv-1' });
        const page = await due();
        const results = await Promise.all(page.map((invoice, n) => claim(`b${n}`, [invoice])));
        expect(results).toMatchObject([allClaimed, allClaimed]);
      });

      test(
        'refuses a token that is older than one it has seen, and writes nothing',
        known('conditions', async () => {
          const { page, claim, read, documents } = await worldWithDue(2);
          const [first, second] = page.map((invoice) => [invoice]);
          await claim('b1', first ?? [], { fence: { ...fence, token: 4 } });
          await expect(claim('b2', second ?? [], { fence: { ...fence, token: 3 } })).rejects.toMatchObject({
            name: 'FencedOut',
          });
          expect((await read('inv-1'))[0]).toMatchObject({ status: 'pending' });
          expect(await documents.read(shard, ['b2'])).toEqual([]);
          // The same token, and larger ones, go on.
          expect(await claim('b3', second ?? [], { fence: { ...fence, token: 4 } })).toMatchObject(
            allClaimed,
          );
        }),
      );

      test(
        'refuses a claim that is overtaken between the plan and the write',
        known('conditions', async () => {
          const { page, claim, interleave } = await worldWithDue(2);
          const [first, second] = page.map((invoice) => [invoice]);
          interleave(() => claim('b2', second ?? [], { fence: { ...fence, token: 4 } }));
          await expect(claim('b1', first ?? [])).rejects.toMatchObject({ name: 'FencedOut' });
        }),
      );

      test('belongs to one lock only', async () => {
        const { page, claim } = await worldWithDue(2);
        const [first, second] = page.map((invoice) => [invoice]);
        await claim('b1', first ?? [], { fence: { ...fence, token: 9 } });
        const other = { lockKey: 'jobs/process-invoices/1', token: 1 };
        expect(await claim('b2', second ?? [], { fence: other })).toMatchObject(allClaimed);
      });
    });

    test('asks before each try whether the lease is held', async () => {
      const { page, claim, read, touch } = await worldWithDue(2);
      await touch('inv-0');
      let asked = 0;
      await claim('b1', page, { assertHeld: () => void asked++ });
      expect(asked).toBe(2);
      const lost = new Error('the lease is gone');
      const again = await read('inv-0');
      await expect(
        claim('b2', again, {
          assertHeld() {
            throw lost;
          },
        }),
      ).rejects.toBe(lost);
      expect(await read('inv-0')).toEqual(again);
    });

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: it is written once', async (answer) => {
        const { page, claim, read, documents, lose } = await worldWithDue(3);
        await lose(answer);
        const { written, contended } = await claim('b1', page);
        expect(contended).toBe(0);
        expect(written?.patches).toHaveLength(3);
        expect(await documents.read(shard, ['b1'])).toMatchObject(written?.messages ?? []);
        expect(written?.messages).toHaveLength(1);
        for (const { timeline } of await read(...idsOf(page))) {
          expect(timeline.filter(({ batchId }) => batchId === 'b1')).toHaveLength(1);
        }
      });

      test.each(lostAnswers)('%s the writes of a new fence too', async (answer) => {
        const { put, due, claim, lose, read } = await world();
        await put({ id: 'inv-0' });
        const page = await due();
        await lose(answer, 3);
        expect(await claim('b1', page)).toMatchObject(allClaimed);
        expect((await read('inv-0'))[0]?.timeline).toHaveLength(2);
      });

      test.each(['before', 'after'] as const)(
        '%s the creation of a fence: it rejects with StoreAway, and a later claim goes through',
        async (answer) => {
          const { put, due, claim, lose, interleave, read } = await world();
          await put({ id: 'inv-0' });
          const page = await due();
          // The first transaction is refused, because the fence is missing. The second one creates it.
          interleave(async () => interleave(() => lose(answer)));
          const away = { name: 'StoreAway', reason: 'noAnswer' };
          await expect(claim('b1', page)).rejects.toMatchObject(away);
          expect((await read('inv-0'))[0]).toMatchObject({ status: 'pending' });
          expect(await claim('b2', page)).toMatchObject(allClaimed);
          expect((await read('inv-0'))[0]).toMatchObject({ claim: { batchId: 'b2' } });
        },
      );

      test('a claim without messages is found again', async () => {
        const { page, claim, lose } = await worldWithDue(2);
        await lose('after');
        const plan = (...args: Parameters<ReturnType<typeof claimPlan>>) => ({
          ...claimPlan('b1')(...args),
          messages: [],
        });
        expect(await claim('b1', page, { plan })).toMatchObject({ written: { messages: [] }, contended: 0 });
      });

      test(
        'what somebody else takes meanwhile is dropped',
        known('staleVersions', async () => {
          const { page, claim, lose, interleave, touch } = await worldWithDue(3);
          interleave(async () => {
            await touch('inv-2');
            await lose('before');
          });
          const { written, contended } = await claim('b1', page);
          expect(written?.patches).toHaveLength(2);
          expect(contended).toBe(1);
        }),
      );

      test('without a clear answer the invoices are contended', async () => {
        const { page, claim, read, lose } = await worldWithDue(2);
        await lose('before', tries);
        expect(await claim('b1', page)).toEqual({ contended: 2 });
        expect(await read(...idsOf(page))).toEqual(page.map((invoice) => expect.objectContaining(invoice)));
      });

      test('a store that refuses the app rejects with StoreAway', async () => {
        const { denied, clock, page } = await worldWithDue(1);
        const claim = denied.invoices({ clock, shards: 1 }).claim({
          shard,
          batchId: 'b1',
          invoices: page,
          fence,
          plan: claimPlan('b1'),
          assertHeld() {},
        });
        await expect(claim).rejects.toMatchObject({ name: 'StoreAway', reason: 'accessDenied' });
      });
    });
  });
}
