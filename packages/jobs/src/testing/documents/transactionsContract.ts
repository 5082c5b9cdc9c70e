import { describe, expect, test } from 'vitest';
import { type Condition, maxOperations, type Operation } from '../../documents/documentStore.ts';
import { type DocumentsSubject, nothingKnown } from './subject.ts';
import { creation, ids, patch, shard, stored } from './world.ts';

/** A transaction is applied as a whole or not at all, and a lost answer is no answer. */
export function transactionsContract(subject: DocumentsSubject): void {
  const { canFail, known = nothingKnown } = subject;

  describe('transactions', () => {
    test('all operations are applied', async () => {
      const { documents } = await stored(subject, { n: 1 });
      const operations = [creation({ id: 'b' }), patch('a', { set: { n: 2 } }), creation({ id: 'c' })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toMatchObject([{ n: 2 }]);
      expect(ids(await documents.read(shard, ['b', 'c']))).toEqual(['b', 'c']);
    });

    test.for<[string, Operation, number]>([
      ['a taken id', creation({ id: 'a' }), 409],
      ['a missing document', patch('x', { set: { n: 1 } }), 404],
      [
        'a condition that does not hold',
        patch('a', { where: [{ path: 'n', is: '=', value: 9 }], set: { n: 2 } }),
        412,
      ],
      ['an old version', patch('a', { version: '"old"', set: { n: 2 } }), 412],
      ['an impossible patch', patch('a', { remove: ['x'] }), 400],
    ])('%s refuses all of it, and only this operation has its own code', ([, culprit, code], context) =>
      known('halfBatches', async () => {
        const { documents } = await stored(subject, { n: 1 });
        const before = await documents.read(shard, ['a']);
        const operations = [patch('a', { set: { first: true } }), creation({ id: 'b' }), culprit];
        expect(await documents.transact(shard, [...operations, creation({ id: 'c' })])).toEqual({
          kind: 'refused',
          codes: [424, 424, code, 424],
        });
        expect(await documents.read(shard, ['a', 'b', 'c'])).toEqual(before);
      })(context),
    );

    test('of two operations at fault, the first has its own code', async () => {
      const { documents } = await stored(subject, {});
      const operations = [creation({ id: 'b' }), patch('x', { set: { n: 1 } }), creation({ id: 'a' })];
      expect(await documents.transact(shard, operations)).toEqual({
        kind: 'refused',
        codes: [424, 404, 424],
      });
    });

    test('operations see those before them', async () => {
      const { documents } = await subject.open();
      const where: Condition[] = [{ path: 'n', is: '=', value: 1 }];
      const operations = [creation({ id: 'a', n: 1 }), patch('a', { where, set: { n: 2 } })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toMatchObject([{ n: 2 }]);
    });

    test(`${maxOperations} operations are the most`, async () => {
      const { documents } = await subject.open();
      const many = (length: number) => Array.from({ length }, (_, n) => creation({ id: `n${n}` }));
      await expect(documents.transact(shard, many(maxOperations + 1))).rejects.toThrow(/operations/);
      expect(await documents.read(shard, ['n0'])).toEqual([]);
      expect(await documents.transact(shard, many(maxOperations))).toEqual({ kind: 'committed' });
    });

    test('one without operations is a mistake', async () => {
      const { documents } = await subject.open();
      await expect(documents.transact(shard, [])).rejects.toThrow(/operations/);
    });
  });

  describe.runIf(canFail)('answers that are lost', () => {
    test.each(['before', 'after'] as const)('%s the write: uncertain', async (answer) => {
      const { documents, lose } = await subject.open();
      await lose(answer);
      expect(await documents.transact(shard, [creation({ id: 'a' })])).toMatchObject({ kind: 'uncertain' });
      expect(await documents.read(shard, ['a'])).toHaveLength(answer === 'after' ? 1 : 0);
      expect(await documents.transact(shard, [creation({ id: 'b' })])).toEqual({ kind: 'committed' });
    });

    test('a write that the client repeats: the refusal is the echo of the first try', async () => {
      const { documents, lose } = await subject.open();
      await lose('echo');
      expect(await documents.transact(shard, [creation({ id: 'a' })])).toEqual({
        kind: 'refused',
        codes: [409],
      });
      expect(await documents.read(shard, ['a'])).toHaveLength(1);
    });

    test('a read without an answer rejects with StoreAway', async () => {
      const { documents, failReads } = await subject.open();
      await failReads();
      await expect(documents.read(shard, ['a'])).rejects.toMatchObject({
        name: 'StoreAway',
        reason: 'noAnswer',
      });
      expect(await documents.read(shard, ['a'])).toEqual([]);
    });

    test('a store that refuses the app rejects with StoreAway', async () => {
      const { documents } = (await subject.open()).denied;
      const denied = { name: 'StoreAway', reason: 'accessDenied' };
      await expect(documents.read(shard, ['a'])).rejects.toMatchObject(denied);
      await expect(documents.transact(shard, [creation({ id: 'a' })])).rejects.toMatchObject(denied);
    });
  });
}
