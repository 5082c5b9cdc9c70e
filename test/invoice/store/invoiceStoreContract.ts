import { describe, expect, test } from 'vitest';
import { claimBatch } from '../../../src/claiming/claimBatch.ts';
import type { Patch } from '../../../src/documents/documentStore.ts';
import { toOpaque } from '../../../src/documents/pages.ts';
import { formatVersion, type Unreadable } from '../../../src/documents/storedDocuments.ts';
import { followUpsOf } from '../../../src/followUps/followUps.ts';
import type { Invoice, InvoiceContent } from '../../../src/invoice/invoice.ts';
import { ifClaimedBy, ifUnchanged } from '../../../src/invoice/invoiceChange.ts';
import { retryInvoice } from '../../../src/invoice/retryInvoice.ts';
import { shardOf } from '../../../src/invoice/shard.ts';
import type {
  ClaimRequest,
  SettleRequest,
  UpdateRequest,
  Writes,
} from '../../../src/invoice/store/invoiceStore.ts';
import { newFence } from '../../../src/locking/fence.ts';
import { newOutboxMessage } from '../../../src/outbox/outboxMessage.ts';
import type { Settlement } from '../../../src/paying/decideSettlement.ts';
import { parseBatch } from '../../../src/paying/paymentBatch.ts';
import { settleBatch } from '../../../src/paying/settleBatch.ts';
import { startBatch } from '../../../src/paying/startBatch.ts';
import { aClaimedInvoice, anInvoice } from '../../support/anInvoice.ts';
import { leapingClock } from '../../support/leapingClock.ts';
import { deviates } from '../../support/officialEmulators.ts';
import type { LostAnswer, StoreSubject } from '../../support/storeSubject.ts';

const shard = '00';
const fence = { lockKey: 'jobs/process-invoices/0', token: 3 };
/** Tries of one write until the store gives it up. */
const tries = 7;
const lostAnswers: readonly LostAnswer[] = ['before', 'after', 'echo'];

/** How an invoice store behaves. Each store must pass it. */
export function invoiceStoreContract({ open, canFail, onEmulator }: StoreSubject): void {
  /** Tests of what the official emulator gets wrong. */
  const known = (issue: number, body: () => Promise<void>) => deviates(issue, body, onEmulator);
  const conditions = 232;
  const staleVersions = 302;
  const races = 303;

  /** An empty store whose invoices are all in shard 00, unless there are more shards. */
  async function world({ shards = 1 }: { shards?: number } = {}) {
    const opened = await open();
    const { documents } = opened;
    const clock = leapingClock();
    const unreadable: Unreadable[] = [];
    const onUnreadable = (found: Unreadable) => void unreadable.push(found);
    const invoices = opened.invoices({ clock, shards, onUnreadable });

    async function put(...stored: Partial<Invoice>[]): Promise<void> {
      for (const changes of stored) {
        const { _etag, ...document } = anInvoice({
          shard: shardOf(changes.id ?? 'inv-1', shards),
          ...changes,
        });
        await create(document);
      }
    }

    async function create<D extends { id: string; shard: string }>(document: D): Promise<void> {
      const answer = await documents.transact(document.shard, [{ kind: 'create', document }]);
      expect(answer).toEqual({ kind: 'committed' });
    }

    /** What somebody else does to an invoice. */
    const touch = (id: string, set: Patch['set'] = { touched: true }) =>
      documents.transact(shardOf(id, shards), [{ kind: 'patch', id, set } as Patch]);

    async function read(...ids: string[]): Promise<Invoice[]> {
      const found = (await documents.read(shard, ids)) as Invoice[];
      return found.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    }

    const due = async (pageSize = 100): Promise<Invoice[]> =>
      (await Array.fromAsync(invoices.due({ shard, now: iso(clock.now()), pageSize }))).flat();

    const claim = (batchId: string, read: readonly Invoice[], changes: Partial<ClaimRequest<Writes>> = {}) =>
      invoices.claim({
        shard,
        batchId,
        invoices: read,
        fence,
        plan: claimPlan(batchId),
        assertHeld() {},
        ...changes,
      });

    const start = (batchId: string, ids: readonly string[], mayBeCharged = false) =>
      invoices.start({
        shard,
        batchId,
        invoices: ids.map((invoiceId) => ({ invoiceId, mayBeCharged })),
        staleAfterMs: 300_000,
      });

    const settle = (
      settlementId: string,
      ids: readonly string[],
      changes: Partial<SettleRequest<{ invoiceId: string }>> = {},
    ) =>
      invoices.settle({
        shard,
        batchId: 'b1',
        settlementId,
        items: ids.map((invoiceId) => ({ invoiceId })),
        plan: settlementPlan(settlementId),
        ...changes,
      });

    return { ...opened, invoices, clock, unreadable, put, create, touch, read, due, claim, start, settle };
  }

  /** The same with `count` invoices that are due, `inv-0` and so on, and with the fence of their shard. */
  async function worldWithDue(count: number) {
    const opened = await world();
    await opened.put(...Array.from({ length: count }, (_, n) => ({ id: `inv-${n}` })));
    await opened.documents.transact(shard, [newFence(fence.lockKey, shard)]);
    return { ...opened, page: await opened.due() };
  }

  /** The same with `count` invoices that batch b1 has claimed. */
  async function worldWithClaimed(count: number, phase: 'claimed' | 'calling' = 'claimed') {
    const opened = await world();
    const ids = Array.from({ length: count }, (_, n) => `inv-${n}`);
    await opened.put(...ids.map((id) => aClaimedInvoice({ id }, { phase })));
    return { ...opened, ids };
  }

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
      expect(idsOf(pages.flat())).toEqual(['inv-0', 'inv-1', 'inv-2', 'inv-3', 'inv-4']);
    });

    test('claiming each page before the next leaves none out', async () => {
      const { invoices, put, claim, due, clock } = await world();
      await put(...Array.from({ length: 7 }, (_, n) => ({ id: `inv-${n}` })));
      let claimed = 0;
      for await (const page of invoices.due({ shard, now: iso(clock.now()), pageSize: 2 })) {
        const { written } = await claim(`b-${claimed}`, page);
        claimed += written?.plan.patches.length ?? 0;
      }
      expect(claimed).toBe(7);
      expect(await due()).toEqual([]);
    });

    test.each([1, 2, 100])('what cannot be read hides no other, and is reported (%i)', async (pageSize) => {
      const { put, due, unreadable } = await world();
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
      expect(idsOf(await due(pageSize))).toEqual(['c', 'e']);
      // A newer release's are neither broken nor ours.
      expect(unreadable.map(({ type, id }) => `${type} ${id}`)).toEqual(['invoice a', 'invoice f']);
    });
  });

  describe('claim', () => {
    test('writes the invoices and their messages, and says what is stored', async () => {
      const { page, claim, read, documents, clock } = await worldWithDue(3);
      const { written, contended } = await claim('b1', page);
      expect(contended).toBe(0);
      expect(written?.plan).toEqual(claimPlan('b1')(page, clock.now()));
      expect(await documents.read(shard, ['b1'])).toMatchObject(written?.messages ?? []);
      expect(written?.messages).toHaveLength(1);
      for (const invoice of await read(...idsOf(page))) {
        expect(invoice).toMatchObject({ status: 'claimed', claim: { batchId: 'b1' }, attempts: 1 });
        expect(invoice.timeline.at(-1)).toMatchObject({ what: 'claimed', batchId: 'b1' });
      }
    });

    test('nothing is claimed of nothing', async () => {
      const { claim, documents } = await world();
      expect(await claim('b1', [])).toEqual({ contended: 0 });
      expect(await documents.read(shard, ['b1'])).toEqual([]);
    });

    test(
      'invoices that somebody else changed are dropped, and the others are claimed',
      known(staleVersions, async () => {
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
        expect(written?.plan.patches).toHaveLength(3);
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
      known(staleVersions, async () => {
        const { page, claim, touch, interleave, read } = await worldWithDue(3);
        interleave(() => touch('inv-1', { status: 'paid' }));
        expect(await claim('b1', page)).toMatchObject({ contended: 1 });
        expect((await read('inv-1'))[0]).toMatchObject({ status: 'paid', timeline: [{ what: 'imported' }] });
      }),
    );

    test(
      'nothing is written if all were changed',
      known(staleVersions, async () => {
        const { page, claim, touch, documents } = await worldWithDue(2);
        for (const { id } of page) await touch(id);
        expect(await claim('b1', page)).toEqual({ contended: 2 });
        expect(await documents.read(shard, ['b1'])).toEqual([]);
      }),
    );

    test(
      'of two that read the same page, each invoice is claimed by one',
      known(races, async () => {
        const { page, claim, read } = await worldWithDue(20);
        const batches = ['b1', 'b2'];
        const results = await Promise.all(batches.map((batchId) => claim(batchId, page)));
        const claimed = results.map(({ written }) => written?.plan.patches.length ?? 0);
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
      known(staleVersions, async () => {
        const { due, claim, read } = await worldWithClaimed(3, 'calling');
        const stale = await due();
        expect(await claim('b2', stale)).toMatchObject({ contended: 0 });
        expect(await claim('b3', stale)).toEqual({ contended: 3 });
        for (const invoice of await read(...idsOf(stale))) expect(invoice.claim?.batchId).toBe('b2');
      }),
    );

    describe('the fence', () => {
      test('is created by the first claim of a lock in a shard', async () => {
        const { put, due, claim } = await world();
        await put({ id: 'inv-0' }, { id: 'inv-1' });
        const [first, second] = await due();
        expect(await claim('b1', first === undefined ? [] : [first])).toMatchObject({ contended: 0 });
        expect(await claim('b2', second === undefined ? [] : [second])).toMatchObject({ contended: 0 });
      });

      test('is created once by two first claims at once', async () => {
        const { put, due, claim } = await world();
        await put({ id: 'inv-0' }, { id: 'inv-1' });
        const page = await due();
        const results = await Promise.all(page.map((invoice, n) => claim(`b${n}`, [invoice])));
        expect(results).toMatchObject([{ contended: 0 }, { contended: 0 }]);
      });

      test(
        'refuses a token that is older than one it has seen, and writes nothing',
        known(conditions, async () => {
          const { page, claim, read, documents } = await worldWithDue(2);
          const [first, second] = page.map((invoice) => [invoice]);
          await claim('b1', first ?? [], { fence: { ...fence, token: 4 } });
          await expect(claim('b2', second ?? [], { fence: { ...fence, token: 3 } })).rejects.toMatchObject({
            name: 'FencedOut',
          });
          expect((await read('inv-1'))[0]).toMatchObject({ status: 'pending' });
          expect(await documents.read(shard, ['b2'])).toEqual([]);
          // The same token, and larger ones, go on.
          expect(await claim('b3', second ?? [], { fence: { ...fence, token: 4 } })).toMatchObject({
            contended: 0,
          });
        }),
      );

      test(
        'refuses a claim that is overtaken between the plan and the write',
        known(conditions, async () => {
          const { page, claim, interleave } = await worldWithDue(2);
          const [first, second] = page.map((invoice) => [invoice]);
          interleave(() => claim('b2', second ?? [], { fence: { ...fence, token: 4 } }));
          await expect(claim('b1', first ?? [])).rejects.toMatchObject({ name: 'FencedOut' });
        }),
      );

      test('of one lock is none of another', async () => {
        const { page, claim } = await worldWithDue(2);
        const [first, second] = page.map((invoice) => [invoice]);
        await claim('b1', first ?? [], { fence: { ...fence, token: 9 } });
        const other = { lockKey: 'jobs/process-invoices/1', token: 1 };
        expect(await claim('b2', second ?? [], { fence: other })).toMatchObject({ contended: 0 });
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
        expect(written?.plan.patches).toHaveLength(3);
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
        expect(await claim('b1', page)).toMatchObject({ contended: 0 });
        expect((await read('inv-0'))[0]?.timeline).toHaveLength(2);
      });

      test('the messages are those of the try that was applied', async () => {
        const { page, claim, documents, lose, failReads, clock } = await worldWithDue(2);
        const at = iso(clock.now());
        await lose('after');
        await failReads();
        const { written, contended } = await claim('b1', page);
        expect(contended).toBe(0);
        expect(written?.plan.messages[0]?.createdAt).not.toBe(at);
        expect(written?.messages[0]?.createdAt).toBe(at);
        expect(await documents.read(shard, ['b1'])).toMatchObject(written?.messages ?? []);
      });

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
        known(staleVersions, async () => {
          const { page, claim, lose, interleave, touch } = await worldWithDue(3);
          interleave(async () => {
            await touch('inv-2');
            await lose('before');
          });
          const { written, contended } = await claim('b1', page);
          expect(written?.plan.patches).toHaveLength(2);
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

  describe('start', () => {
    test('marks the claims as being called, until they go stale again', async () => {
      const { ids, start, read, clock } = await worldWithClaimed(3);
      const before = await read(...ids);
      expect(await start('b1', ids)).toEqual({
        held: ids.map((invoiceId) => ({ invoiceId })),
        dropped: { settled: 0, staleClaim: 0, missing: 0 },
      });
      expect(await read(...ids)).toMatchObject(
        before.map(({ claim, timeline, payment }) => ({
          status: 'claimed',
          claim: { ...claim, phase: 'calling' },
          actionableAt: iso(clock.now() + 300_000),
          timeline,
          payment,
        })),
      );
    });

    test(
      'drops what the batch has no claim on any more, and starts the rest',
      known(conditions, async () => {
        const { put, start, read } = await world();
        const claim = aClaimedInvoice({}, { phase: 'claimed' });
        await put(
          { ...claim, id: 'held-1' },
          aClaimedInvoice({
            id: 'taken',
            claim: { ...claim.claim, batchId: 'b2' } as Invoice['claim'] & object,
          }),
          { id: 'pending' },
          { id: 'paid', status: 'paid' },
          { id: 'declined', status: 'declined' },
          { id: 'parked', status: 'parked' },
          { ...claim, id: 'held-2' },
        );
        const others = await read('taken', 'pending', 'paid', 'declined', 'parked');
        const all = ['held-1', 'taken', 'pending', 'paid', 'declined', 'parked', 'missing', 'held-2'];
        expect(await start('b1', all)).toEqual({
          held: [{ invoiceId: 'held-1' }, { invoiceId: 'held-2' }],
          dropped: { settled: 3, staleClaim: 2, missing: 1 },
        });
        expect(await read('taken', 'pending', 'paid', 'declined', 'parked')).toEqual(others);
        expect(await start('b1', ['taken', 'missing'])).toEqual({
          held: [],
          dropped: { settled: 0, staleClaim: 1, missing: 1 },
        });
      }),
    );

    test(
      'says since when calls may have begun under this claim before',
      known(conditions, async () => {
        const { put, start, read } = await world();
        const at = aClaimedInvoice().claim?.at;
        await put(
          aClaimedInvoice({ id: 'called' }),
          aClaimedInvoice({ id: 'untouched' }, { phase: 'claimed' }),
        );
        expect((await start('b1', ['called', 'untouched'])).held).toEqual([
          { invoiceId: 'called', calledSince: at },
          { invoiceId: 'untouched' },
        ]);
        for (const { claim } of await read('called', 'untouched')) expect(claim?.phase).toBe('calling');
      }),
    );

    test('an invoice that is known to be chargeable already needs no second look', async () => {
      const { ids, start } = await worldWithClaimed(2, 'calling');
      expect(await start('b1', ids, true)).toEqual({
        held: ids.map((invoiceId) => ({ invoiceId })),
        dropped: { settled: 0, staleClaim: 0, missing: 0 },
      });
    });

    test(
      'of two at once both hold the claims, and one of them knows that calls may have begun',
      known(races, async () => {
        const { ids, start } = await worldWithClaimed(3);
        const both = await Promise.all([start('b1', ids), start('b1', ids)]);
        for (const { held } of both) expect(held.map(({ invoiceId }) => invoiceId)).toEqual(ids);
        const since = both.map(({ held }) => held.filter(({ calledSince }) => calledSince !== undefined));
        expect(since.map((called) => called.length).toSorted()).toEqual([0, 3]);
      }),
    );

    test(
      'a claim that is taken between the message and the write is dropped',
      known(conditions, async () => {
        const { ids, start, interleave, touch } = await worldWithClaimed(2);
        interleave(() => touch('inv-0', { 'claim.batchId': 'b2' }));
        expect(await start('b1', ids)).toEqual({
          held: [{ invoiceId: 'inv-1' }],
          dropped: { settled: 0, staleClaim: 1, missing: 0 },
        });
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: all are held', async (answer) => {
        const { ids, start, read, lose, clock } = await worldWithClaimed(3);
        const at = aClaimedInvoice().claim?.at;
        await lose(answer);
        const { held, dropped } = await start('b1', ids);
        // After the write nobody can tell our own start from another's: calls may have begun.
        const since = answer === 'before' ? {} : { calledSince: at };
        expect(held).toEqual(ids.map((invoiceId) => ({ invoiceId, ...since })));
        expect(dropped).toEqual({ settled: 0, staleClaim: 0, missing: 0 });
        for (const invoice of await read(...ids)) {
          expect(invoice).toMatchObject({
            claim: { phase: 'calling' },
            actionableAt: iso(clock.now() + 300_000),
          });
        }
      });

      test.each(['before', 'after'] as const)('%s the write, and the reread too', async (answer) => {
        const { ids, start, lose, failReads } = await worldWithClaimed(2);
        await lose(answer);
        await failReads();
        expect((await start('b1', ids)).held).toHaveLength(2);
      });

      test('without a clear answer it rejects', async () => {
        const { ids, start, lose } = await worldWithClaimed(2);
        await lose('before', tries);
        await expect(start('b1', ids)).rejects.toMatchObject({ name: 'NoClearAnswer', reason: 'noAnswer' });
        expect((await start('b1', ids)).held).toHaveLength(2);
      });
    });
  });

  describe('settle', () => {
    test('writes what became of the invoices, with the messages', async () => {
      const { ids, settle, read, documents } = await worldWithClaimed(3, 'calling');
      const { settled, messages, lost } = await settle('s1', ids);
      expect(settled).toEqual(ids.map((invoiceId) => ({ invoiceId })));
      expect(lost).toBe(0);
      expect(messages).toMatchObject([{ id: 's1', body: ids }]);
      expect(await documents.read(shard, ['s1'])).toMatchObject(messages);
      for (const invoice of await read(...ids)) {
        expect(invoice).toMatchObject({ status: 'paid', reason: 's1' });
        expect(invoice).not.toHaveProperty('claim');
        expect(invoice).not.toHaveProperty('actionableAt');
        expect(invoice.timeline.at(-1)).toMatchObject({ what: 'paid', settlement: 's1' });
      }
    });

    test('gives the items back as they came', async () => {
      const { invoices } = await worldWithClaimed(1, 'calling');
      const item = { invoiceId: 'inv-0', command: { any: 'thing' } };
      const request = { shard, batchId: 'b1', settlementId: 's1', items: [item] };
      const { settled } = await invoices.settle({ ...request, plan: settlementPlan('s1') });
      expect(settled).toEqual([item]);
    });

    test(
      'drops what another claim has taken, and settles the rest',
      known(conditions, async () => {
        const { ids, settle, touch, read, documents } = await worldWithClaimed(5, 'calling');
        await touch('inv-0', { 'claim.batchId': 'b2' });
        await touch('inv-1', { status: 'pending' });
        await touch('inv-3', { status: 'parked' });
        const before = await read('inv-0', 'inv-1', 'inv-3');
        const { settled, messages, lost } = await settle('s1', [...ids, 'missing']);
        expect(settled).toEqual([{ invoiceId: 'inv-2' }, { invoiceId: 'inv-4' }]);
        expect(lost).toBe(4);
        expect(messages).toMatchObject([{ id: 's1', body: ['inv-2', 'inv-4'] }]);
        expect(await documents.read(shard, ['s1'])).toMatchObject(messages);
        expect(await read('inv-0', 'inv-1', 'inv-3')).toEqual(before);
      }),
    );

    test(
      'writes nothing if all are lost',
      known(conditions, async () => {
        const { ids, settle, touch, documents } = await worldWithClaimed(2, 'calling');
        for (const id of ids) await touch(id, { 'claim.batchId': 'b2' });
        expect(await settle('s1', ids)).toEqual({ settled: [], messages: [], lost: 2 });
        expect(await documents.read(shard, ['s1'])).toEqual([]);
      }),
    );

    test(
      'of two settlements at once, each invoice has one',
      known(races, async () => {
        const { ids, settle, read, documents } = await worldWithClaimed(5, 'calling');
        const both = await Promise.all(['s1', 's2'].map((settlementId) => settle(settlementId, ids)));
        expect(both.map(({ settled }) => settled.length).toSorted()).toEqual([0, 5]);
        expect(both.map(({ lost }) => lost).toSorted()).toEqual([0, 5]);
        for (const { timeline } of await read(...ids)) {
          expect(timeline.filter(({ what }) => what === 'paid')).toHaveLength(1);
        }
        expect(await documents.read(shard, ['s1', 's2'])).toHaveLength(1);
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: it is written once', async (answer) => {
        const { ids, settle, read, documents, lose } = await worldWithClaimed(3, 'calling');
        await lose(answer);
        const { settled, messages, lost } = await settle('s1', ids);
        expect({ settled: settled.length, lost }).toEqual({ settled: 3, lost: 0 });
        expect(await documents.read(shard, ['s1'])).toMatchObject(messages);
        expect(messages).toHaveLength(1);
        for (const { timeline, status } of await read(...ids)) {
          expect(status).toBe('paid');
          expect(timeline.filter(({ settlement }) => settlement === 's1')).toHaveLength(1);
        }
      });

      test.each(['before', 'after'] as const)('%s the write, and the reread too', async (answer) => {
        const { ids, settle, read, lose, failReads } = await worldWithClaimed(2, 'calling');
        await lose(answer);
        await failReads();
        expect(await settle('s1', ids)).toMatchObject({ settled: [{}, {}], lost: 0 });
        for (const { timeline } of await read(...ids)) expect(timeline).toHaveLength(2);
      });

      test('what another claim takes meanwhile is lost', async () => {
        const { ids, settle, touch, lose, interleave } = await worldWithClaimed(2, 'calling');
        interleave(async () => {
          await touch('inv-1', { 'claim.batchId': 'b2' });
          await lose('before');
        });
        expect(await settle('s1', ids)).toMatchObject({ settled: [{ invoiceId: 'inv-0' }], lost: 1 });
      });

      test('without a clear answer it rejects', async () => {
        const { ids, settle, lose } = await worldWithClaimed(2, 'calling');
        await lose('before', tries);
        await expect(settle('s1', ids)).rejects.toMatchObject({ name: 'NoClearAnswer', reason: 'noAnswer' });
        expect(await settle('s2', ids)).toMatchObject({ settled: [{}, {}], lost: 0 });
      });
    });
  });

  describe('update', () => {
    test('changes the invoice as it is stored, with the messages', async () => {
      const { put, invoices, read, documents } = await world();
      await put({ id: 'inv-1', status: 'parked', reason: 'why' });
      const [before] = await read('inv-1');
      const message = newOutboxMessage({ id: 'm1', shard, destination: 'work-items', body: [] }, 0);
      const updated = await invoices.update('inv-1', {
        decide: (invoice) => ({
          kind: 'change',
          change: {
            set: { status: 'pending', attempts: invoice.attempts + 1 },
            clear: ['reason'],
            entry: { at: '', what: 'changed', by: 'me' },
          },
          messages: [message],
        }),
        isApplied: () => false,
      });
      const [after] = await read('inv-1');
      expect(updated).toMatchObject({
        kind: 'updated',
        before: { status: 'parked', reason: 'why', _etag: before?._etag },
        invoice: { status: 'pending', attempts: 1, _etag: after?._etag },
      });
      expect(after).not.toHaveProperty('reason');
      expect(after?.timeline.at(-1)).toEqual({ at: '', what: 'changed', by: 'me' });
      expect(await documents.read(shard, ['m1'])).toMatchObject([message]);
    });

    test('an invoice that is not there is not found, and neither is another kind of document', async () => {
      const { invoices, documents } = await world();
      const document = newOutboxMessage({ id: 'm1', shard, destination: 'work-items', body: [] }, 0);
      await documents.transact(shard, [{ kind: 'create', document }]);
      expect(await invoices.update('inv-1', counting('t1'))).toEqual({ kind: 'notFound' });
      expect(await invoices.update('m1', counting('t1'))).toEqual({ kind: 'notFound' });
      expect(await invoices.update('no/id', counting('t1'))).toEqual({ kind: 'notFound' });
    });

    test('what is refused is left as it is', async () => {
      const { put, invoices, read } = await world();
      await put({ id: 'inv-1', status: 'paid' });
      const before = await read('inv-1');
      const updated = await invoices.update('inv-1', {
        decide: ({ status }) => ({ kind: 'refuse', why: `it is ${status}` }),
        isApplied: () => false,
      });
      expect(updated).toEqual({ kind: 'refused', why: 'it is paid' });
      expect(await read('inv-1')).toEqual(before);
    });

    test(
      'is decided again if somebody else changed the invoice',
      known(staleVersions, async () => {
        const { put, invoices, interleave, touch, read } = await world();
        await put({ id: 'inv-1' });
        interleave(() => touch('inv-1', { attempts: 5 }));
        expect(await invoices.update('inv-1', counting('t1'))).toMatchObject({
          kind: 'updated',
          before: { attempts: 5 },
          invoice: { attempts: 6 },
        });
        interleave(() => touch('inv-1', { status: 'paid' }));
        expect(await invoices.update('inv-1', counting('t2'))).toEqual({ kind: 'refused', why: 'paid' });
        expect((await read('inv-1'))[0]).toMatchObject({ attempts: 6, status: 'paid' });
      }),
    );

    test(
      'of several at once, each is applied once',
      known(races, async () => {
        const { put, invoices, read } = await world();
        await put({ id: 'inv-1' });
        const touches = ['t1', 't2', 't3', 't4'];
        const updates = await Promise.all(touches.map((touch) => invoices.update('inv-1', counting(touch))));
        expect(updates.map(({ kind }) => kind)).toEqual(touches.map(() => 'updated'));
        const [stored] = await read('inv-1');
        expect(stored?.attempts).toBe(4);
        expect(stored?.timeline.map(({ touch }) => touch).toSorted()).toEqual([...touches, undefined]);
      }),
    );

    test('asks before each try whether it may write', async () => {
      const { put, invoices, interleave, touch, read } = await world();
      await put({ id: 'inv-1' });
      let asked = 0;
      interleave(() => touch('inv-1'));
      await invoices.update('inv-1', { ...counting('t1'), beforeTry: () => void asked++ });
      expect(asked).toBe(2);
      const before = await read('inv-1');
      const stop = new Error('not any more');
      const beforeTry = () => {
        throw stop;
      };
      await expect(invoices.update('inv-1', { ...counting('t2'), beforeTry })).rejects.toBe(stop);
      expect(await read('inv-1')).toEqual(before);
    });

    test('an invoice of a newer release is not ours to change', async () => {
      const { put, invoices } = await world();
      await put({ id: 'inv-1', version: formatVersion + 1 });
      await expect(invoices.update('inv-1', counting('t1'))).rejects.toMatchObject({ name: 'NewerVersion' });
    });

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: it is written once', async (answer) => {
        const { put, invoices, lose, read } = await world();
        await put({ id: 'inv-1' });
        await lose(answer);
        expect(await invoices.update('inv-1', counting('t1'))).toMatchObject({
          kind: 'updated',
          before: { attempts: 0 },
          invoice: { attempts: 1 },
        });
        expect((await read('inv-1'))[0]).toMatchObject({ attempts: 1, timeline: [{}, { touch: 't1' }] });
      });

      test('without a clear answer it rejects', async () => {
        const { put, invoices, lose } = await world();
        await put({ id: 'inv-1' });
        await lose('before', tries);
        await expect(invoices.update('inv-1', counting('t1'))).rejects.toMatchObject({
          name: 'NoClearAnswer',
          reason: 'noAnswer',
        });
      });

      test('a store that cannot be read rejects', async () => {
        const { put, invoices, failReads } = await world();
        await put({ id: 'inv-1' });
        await failReads();
        await expect(invoices.update('inv-1', counting('t1'))).rejects.toMatchObject({ name: 'StoreAway' });
      });
    });
  });

  describe('add', () => {
    const shards = 4;
    const options = { by: 'importer', withinMs: 60_000 };

    test('stores new invoices in their shards, pending and due at their time', async () => {
      const { invoices, documents, clock } = await world({ shards });
      const contents = contentsOf(40);
      const { outcomes, failure } = await invoices.add(contents, options);
      expect([...outcomes]).toHaveLength(40);
      expect(new Set(outcomes.values())).toEqual(new Set(['created']));
      expect(failure).toBeUndefined();
      for (const content of contents) {
        const [stored] = await documents.read(shardOf(content.id, shards), [content.id]);
        expect(stored).toMatchObject({
          ...content,
          type: 'invoice',
          status: 'pending',
          actionableAt: content.dueAt,
          createdAt: iso(clock.now()),
          timeline: [{ what: 'imported', by: 'importer' }],
        });
      }
    });

    test('stores more of one shard than fit a transaction', async () => {
      const { invoices } = await world();
      const { outcomes } = await invoices.add(contentsOf(230), options);
      expect([...outcomes.values()].filter((outcome) => outcome === 'created')).toHaveLength(230);
      expect((await invoices.figures(iso(0))).byStatus).toEqual(new Map([['pending', 230]]));
    });

    test('stores nothing of nothing', async () => {
      const { invoices } = await world();
      expect(await invoices.add([], options)).toEqual({ outcomes: new Map() });
    });

    test('says of each what is stored already, and stores the others', async () => {
      const { invoices, put, create, read } = await world();
      const [fresh, same, moved, other, taken, last] = contentsOf(6);
      if (!fresh || !same || !moved || !other || !taken || !last) throw new Error('expected six');
      await put({ ...same }, { ...moved, status: 'paid', attempts: 2 }, { ...other, amountMinor: 5 });
      await create(newOutboxMessage({ id: taken.id, shard, destination: 'work-items', body: [] }, 0));
      const before = await read(same.id, moved.id, other.id, taken.id);
      const { outcomes, failure } = await invoices.add([fresh, same, moved, other, taken, last], options);
      expect(outcomes).toEqual(
        new Map([
          [fresh.id, 'created'],
          [same.id, 'duplicate'],
          [moved.id, 'duplicate'],
          [other.id, 'otherContent'],
          [taken.id, 'idTaken'],
          [last.id, 'created'],
        ]),
      );
      expect(failure).toBeUndefined();
      expect(await read(same.id, moved.id, other.id, taken.id)).toEqual(before);
    });

    test(
      'of two at once, each invoice is created once',
      known(races, async () => {
        const { invoices } = await world({ shards });
        const contents = contentsOf(40);
        const both = await Promise.all([invoices.add(contents, options), invoices.add(contents, options)]);
        for (const { id } of contents) {
          expect(both.map(({ outcomes }) => outcomes.get(id)).toSorted()).toEqual(['created', 'duplicate']);
        }
        expect((await invoices.figures(iso(0))).byStatus).toEqual(new Map([['pending', 40]]));
      }),
    );

    test('once the time is up nothing more is stored', async () => {
      const { invoices } = await world();
      const contents = contentsOf(2);
      const { outcomes, failure } = await invoices.add(contents, { ...options, withinMs: -1 });
      expect([...outcomes.values()]).toEqual(['notStored', 'notStored']);
      expect(failure).toBeInstanceOf(Error);
      expect((await invoices.figures(iso(0))).byStatus).toEqual(new Map());
    });

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: each is stored once', async (answer) => {
        const { invoices, lose } = await world();
        await lose(answer);
        const { outcomes, failure } = await invoices.add(contentsOf(3), options);
        // An echo comes without a word of the first try: it looks as if somebody else had stored the same.
        const outcome = answer === 'echo' ? 'duplicate' : 'created';
        expect([...outcomes.values()]).toEqual([outcome, outcome, outcome]);
        expect(failure).toBeUndefined();
        expect((await invoices.figures(iso(0))).byStatus).toEqual(new Map([['pending', 3]]));
      });

      test.each(['before', 'after'] as const)('%s the write, and the reread too', async (answer) => {
        const { invoices, lose, failReads } = await world();
        await lose(answer);
        await failReads();
        const { outcomes } = await invoices.add(contentsOf(3), options);
        expect([...outcomes.values()]).toEqual(['created', 'created', 'created']);
      });

      test('what was stored before is a duplicate even then', async () => {
        const { invoices, put, lose, clock } = await world();
        const [stored, fresh] = contentsOf(2);
        if (!stored || !fresh) throw new Error('expected two');
        await put({ ...stored, createdAt: iso(clock.now() - 1) });
        await lose('before');
        const { outcomes } = await invoices.add([stored, fresh], options);
        expect([...outcomes.values()].toSorted()).toEqual(['created', 'duplicate']);
        expect(outcomes.get(fresh.id)).toBe('created');
      });

      test('without a clear answer: unclear, with the failure', async () => {
        const { invoices, lose } = await world();
        await lose('before', tries);
        const { outcomes, failure } = await invoices.add(contentsOf(2), options);
        expect([...outcomes.values()]).toEqual(['unclear', 'unclear']);
        expect(failure).toMatchObject({ name: 'NoClearAnswer' });
      });

      test('if the time is up before an answer is clear: unclear', async () => {
        const { invoices, lose } = await world();
        await lose('before', tries);
        const { outcomes, failure } = await invoices.add(contentsOf(2), { ...options, withinMs: 300 });
        expect([...outcomes.values()]).toEqual(['unclear', 'unclear']);
        expect(failure).toMatchObject({ message: expect.stringContaining('the time for storing') as string });
      });

      test('a store that refuses the app: nothing is stored, and nothing rejects', async () => {
        const { denied, clock } = await world();
        const { outcomes, failure } = await denied.invoices({ clock, shards: 1 }).add(contentsOf(2), options);
        expect([...outcomes.values()]).toEqual(['notStored', 'notStored']);
        expect(failure).toMatchObject({ name: 'StoreAway', reason: 'accessDenied' });
      });
    });
  });

  describe('find', () => {
    test('an invoice by its id, whatever its shard', async () => {
      const { invoices } = await world({ shards: 4 });
      const contents = contentsOf(8);
      await invoices.add(contents, { by: 'importer', withinMs: 60_000 });
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

  describe('list', () => {
    async function all(
      invoices: Awaited<ReturnType<typeof world>>['invoices'],
      query: { status?: Invoice['status']; pageSize: number },
    ): Promise<string[]> {
      const found: string[] = [];
      let continuation: string | undefined;
      do {
        const next = continuation === undefined ? {} : { continuation };
        const page = await invoices.list({ ...query, ...next });
        expect(page.items.length).toBeLessThanOrEqual(query.pageSize);
        found.push(...idsOf(page.items));
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

    test('a last page has no continuation', async () => {
      const { invoices, put } = await world();
      await put({ id: 'inv-1' });
      expect(await invoices.list({ pageSize: 10 })).toEqual({ items: [expect.anything()] });
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

    test.each(['nonsense', '!', toOpaque('{"not":"ours"}'), toOpaque('ü')])(
      'refuses a continuation that it did not give: %s',
      async (continuation) => {
        const { invoices, put } = await world();
        await put({ id: 'a' });
        await expect(invoices.list({ pageSize: 1, continuation })).rejects.toMatchObject({
          name: 'BadContinuation',
        });
      },
    );
  });

  describe('figures', () => {
    test('of an empty store', async () => {
      const { invoices, clock } = await world({ shards: 4 });
      expect(await invoices.figures(iso(clock.now()))).toEqual({
        byStatus: new Map(),
        staleClaims: 0,
        charges: 0,
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
      expect(await invoices.figures(iso(now))).toEqual({
        byStatus: new Map([
          ['pending', 2],
          ['claimed', 2],
          ['paid', 2],
          ['parked', 2],
          ['declined', 1],
        ]),
        staleClaims: 1,
        charges: 2,
      });
      expect(await invoices.parkedCount()).toBe(2);
      expect(await invoices.unknownSince()).toBe(iso(now - 180_000));
    });
  });

  describe('fields of a newer minor release', () => {
    const settlements: Settlement[] = [
      { kind: 'paid', paymentId: 'pi_1' },
      { kind: 'declined', reason: 'stolen card' },
      { kind: 'parked', reason: 'who knows', unknown: true },
      { kind: 'parked', reason: 'who knows', unknown: false },
      {
        kind: 'retry',
        why: 'transient',
        at: '2026-07-01T00:00:00.000Z',
        reason: 'down',
        attempts: 1,
        payment: { keyNumber: 1, declines: 0, deferrals: 1, newer: 'payment' } as Invoice['payment'],
      },
    ];

    test.each(settlements)(
      'survive a claim, its start, its settlement ($kind) and a retry',
      async (settlement) => {
        const { invoices, put, due, touch, read, clock } = await world();
        const newer = { newer: { at: 'the top' }, payment: { ...anInvoice().payment, newer: 'payment' } };
        await put({ id: 'inv-1', ...newer });
        const followUps = followUpsOf([]);
        const lease = { key: fence.lockKey, fence: fence.token, assertHeld() {} };
        const run = { runId: 'run-1', instance: 'host-a', lease };
        const parts = { invoices, followUps, claimStaleMs: 300_000 };
        const { message } = await claimBatch(parts, shard, await due(), run);
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
        });
        await touch('inv-1', { 'claim.newer': 'claim' });
        const batch = parseBatch(message?.body);
        const { toPay } = await startBatch(invoices, batch, { claimStaleMs: 300_000 });
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          claim: { newer: 'claim', phase: 'calling' },
        });
        const settling = { invoices, followUps, instance: { clock, name: 'host-a' } };
        await settleBatch(
          settling,
          batch,
          toPay.map((command) => ({ command, settlement })),
        );
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          status: settlement.kind === 'retry' ? 'pending' : settlement.kind,
        });
        if (settlement.kind !== 'declined' && settlement.kind !== 'parked') return;
        expect(await retryInvoice({ invoices, clock }, 'inv-1', { actor: 'ops' })).toMatchObject({
          kind: 'retried',
        });
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          status: 'pending',
        });
      },
    );

    test('survive a claim that goes stale', async () => {
      const { due, put, claim, read } = await world();
      const payment = { ...anInvoice().payment, newer: 'payment' };
      await put({ ...aClaimedInvoice({ id: 'inv-1', payment }), newer: true } as Partial<Invoice>);
      await claim('b2', await due());
      expect((await read('inv-1'))[0]).toMatchObject({
        newer: true,
        payment: { newer: 'payment' },
        claim: { batchId: 'b2' },
      });
    });
  });
}

/** Claims each invoice, and orders its payment in one message. */
function claimPlan(batchId: string): ClaimRequest<Writes>['plan'] {
  return (invoices, now) => {
    const at = iso(now);
    return {
      patches: invoices.map((invoice) =>
        ifUnchanged(invoice, {
          set: {
            status: 'claimed',
            claim: {
              batchId,
              by: 'host-a',
              runId: 'run-1',
              fence: fence.token,
              attempt: invoice.attempts + 1,
              at,
              phase: 'claimed',
            },
            actionableAt: iso(now + 300_000),
            attempts: invoice.attempts + 1,
          },
          entry: { at, what: 'claimed', by: 'host-a', batchId },
        }),
      ),
      messages: [
        newOutboxMessage({ id: batchId, shard, destination: 'payment-commands', body: idsOf(invoices) }, now),
      ],
    };
  };
}

/** Settles each invoice of batch b1 as paid, and orders what follows in one message. */
function settlementPlan(settlementId: string): SettleRequest<{ invoiceId: string }>['plan'] {
  return (items) => ({
    patches: items.map(({ invoiceId }) =>
      ifClaimedBy('b1', invoiceId, {
        set: { status: 'paid', reason: settlementId },
        clear: ['claim', 'actionableAt'],
        entry: { at: '', what: 'paid', by: 'host-a', settlement: settlementId },
      }),
    ),
    messages: [
      newOutboxMessage(
        {
          id: settlementId,
          shard,
          destination: 'work-items',
          body: items.map(({ invoiceId }) => invoiceId),
        },
        0,
      ),
    ],
  });
}

/** Counts an attempt, unless the invoice is paid. `touch` names this change in the timeline. */
function counting(touch: string): UpdateRequest<string> {
  return {
    decide: ({ status, attempts }) =>
      status === 'paid'
        ? { kind: 'refuse', why: status }
        : {
            kind: 'change',
            change: {
              set: { attempts: attempts + 1 },
              entry: { at: '', what: 'touched', by: 'me', touch },
            },
          },
    isApplied: ({ timeline }) => timeline.some((entry) => entry.touch === touch),
  };
}

function contentsOf(count: number): InvoiceContent[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `new-${n}`,
    customerId: 'cus-1',
    amountMinor: 100 + n,
    currency: 'USD',
    dueAt: '2026-05-01T00:00:00.000Z',
    paymentMethod: 'pm_card_visa',
  }));
}

function idsOf(invoices: readonly { id: string }[]): string[] {
  return invoices.map(({ id }) => id);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
