import { describe, expect, test } from 'vitest';
import { type InvoiceContract, lostAnswers, settlementPlan, shard, toSettle, tries } from './world.ts';

/** Writing what became of a batch. */
export function settleContract({ worldWithClaimed, known, canFail }: InvoiceContract): void {
  describe('settle', () => {
    test('writes what became of the invoices, with the messages', async () => {
      const { ids, settle, read, documents } = await worldWithClaimed(3, 'calling');
      const { settled, messages, lost } = await settle('s1', ids);
      expect(settled).toMatchObject(ids.map((invoiceId) => ({ invoiceId })));
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
      const item = { ...toSettle('inv-0'), command: { any: 'thing' } };
      const request = { shard, batchId: 'b1', settlementId: 's1', items: [item] };
      const { settled } = await invoices.settle({ ...request, plan: settlementPlan('s1') });
      expect(settled).toEqual([item]);
    });

    test(
      'drops what another claim has taken, and settles the rest',
      known('conditions', async () => {
        const { ids, settle, touch, read, documents } = await worldWithClaimed(5, 'calling');
        await touch('inv-0', { 'claim.batchId': 'b2' });
        await touch('inv-1', { status: 'pending' });
        await touch('inv-3', { status: 'parked' });
        const before = await read('inv-0', 'inv-1', 'inv-3');
        const { settled, messages, lost } = await settle('s1', [...ids, 'missing']);
        expect(settled).toMatchObject([{ invoiceId: 'inv-2' }, { invoiceId: 'inv-4' }]);
        expect(lost).toBe(4);
        expect(messages).toMatchObject([{ id: 's1', body: ['inv-2', 'inv-4'] }]);
        expect(await documents.read(shard, ['s1'])).toMatchObject(messages);
        expect(await read('inv-0', 'inv-1', 'inv-3')).toEqual(before);
      }),
    );

    test(
      'writes nothing if all are lost',
      known('conditions', async () => {
        const { ids, settle, touch, documents } = await worldWithClaimed(2, 'calling');
        for (const id of ids) await touch(id, { 'claim.batchId': 'b2' });
        expect(await settle('s1', ids)).toEqual({ settled: [], messages: [], lost: 2 });
        expect(await documents.read(shard, ['s1'])).toEqual([]);
      }),
    );

    test(
      'of two settlements at once, each invoice has one',
      known('races', async () => {
        const { ids, settle, read, documents } = await worldWithClaimed(5, 'calling');
        const both = await Promise.all(['s1', 's2'].map((settlementId) => settle(settlementId, ids)));
        expect(new Set(both.map(({ settled }) => settled.length))).toEqual(new Set([0, 5]));
        expect(new Set(both.map(({ lost }) => lost))).toEqual(new Set([0, 5]));
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
}
