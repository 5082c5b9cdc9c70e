import { describe, expect, test } from 'vitest';
import type { Condition, Patch } from '../../documents/documentStore.ts';
import { type DocumentsSubject, nothingKnown } from './subject.ts';
import { creation, ids, patch, replace, shard, stored, storedVersion } from './world.ts';

/** A write on a condition is applied only if that holds. */
export function conditionsContract(subject: DocumentsSubject): void {
  const { known = nothingKnown } = subject;

  describe('versions', () => {
    test('each write changes the version, even one that changes nothing', async () => {
      const { documents } = await stored(subject, { n: 1 });
      const versions = [await storedVersion(documents)];
      for (const n of [2, 2, 3]) {
        await documents.transact(shard, [patch('a', { set: { n } })]);
        versions.push(await storedVersion(documents));
      }
      expect(new Set(versions).size).toBe(versions.length);
    });

    test('a write on another document leaves it as it is', async () => {
      const { documents } = await stored(subject, { n: 1 });
      const version = await storedVersion(documents);
      await documents.transact(shard, [creation({ id: 'b' })]);
      await documents.transact(shard, [patch('b', { set: { n: 2 } })]);
      expect(await storedVersion(documents)).toBe(version);
    });

    test(
      'a patch of a version applies once: the second is refused with 412',
      known('staleVersions', async () => {
        const { documents } = await stored(subject, { n: 1 });
        const version = await storedVersion(documents);
        const write = [patch('a', { version, set: { n: 2 } })];
        expect(await documents.transact(shard, write)).toEqual({ kind: 'committed' });
        expect(await documents.transact(shard, write)).toEqual({ kind: 'refused', codes: [412] });
      }),
    );

    test(
      'of many patches of one version at once, one is committed',
      known('races', async () => {
        const { documents } = await stored(subject, { log: [] });
        const version = await storedVersion(documents);
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            documents.transact(shard, [
              patch('a', { version, append: { path: 'log', value: n } }),
              creation({ id: `n${n}` }),
            ]),
          ),
        );
        expect(answers.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
        const winner = answers.findIndex(({ kind }) => kind === 'committed');
        expect(answers.filter(({ kind }) => kind === 'refused')).toEqual(
          Array.from({ length: 9 }, () => ({ kind: 'refused', codes: [412, 424] })),
        );
        expect(await documents.read(shard, ['a'])).toMatchObject([{ log: [winner] }]);
        const all = Array.from({ length: 10 }, (_, n) => `n${n}`);
        expect(ids(await documents.read(shard, all))).toEqual([`n${winner}`]);
      }),
    );
  });

  describe('replacements', () => {
    test('one of the present version takes the place of the whole document', async () => {
      const { documents } = await stored(subject, { n: 1, only: 'before' });
      const version = await storedVersion(documents);
      const answer = await documents.transact(shard, [replace('a', version, { n: 2 })]);
      expect(answer).toEqual({ kind: 'committed' });
      const [found] = await documents.read(shard, ['a']);
      expect(found).toMatchObject({ id: 'a', shard, n: 2 });
      expect(found).not.toHaveProperty('only');
      expect(await storedVersion(documents)).not.toBe(version);
    });

    test(
      'a replacement of a version applies once: the second is refused with 412',
      known('staleVersions', async () => {
        const { documents } = await stored(subject, { n: 1 });
        const version = await storedVersion(documents);
        await documents.transact(shard, [patch('a', { set: { n: 2 } })]);
        const stale = [creation({ id: 'b' }), replace('a', version, { n: 3 })];
        expect(await documents.transact(shard, stale)).toEqual({ kind: 'refused', codes: [424, 412] });
        expect(await documents.read(shard, ['a', 'b'])).toMatchObject([{ id: 'a', n: 2 }]);
      }),
    );

    test('of a document that is not there: refused with 404', async () => {
      const { documents } = await stored(subject, { n: 1 });
      const answer = await documents.transact(shard, [replace('other', '"v"', { n: 1 })]);
      expect(answer).toEqual({ kind: 'refused', codes: [404] });
    });
  });

  describe('conditions', () => {
    const document = { status: 'claimed', quoted: `O'Hara "x" \\`, fence: 5, claim: { batchId: 'b1' } };

    test.each<[Condition[]]>([
      [[{ path: 'status', is: '=', value: 'claimed' }]],
      [[{ path: 'quoted', is: '=', value: `O'Hara "x" \\` }]],
      [[{ path: 'fence', is: '=', value: 5 }]],
      [[{ path: 'fence', is: '<=', value: 5 }]],
      [[{ path: 'fence', is: '<=', value: 6 }]],
      [[{ path: 'status', is: '<=', value: 'd' }]],
      [
        [
          { path: 'status', is: '=', value: 'claimed' },
          { path: 'claim.batchId', is: '=', value: 'b1' },
        ],
      ],
      [[]],
    ])('%j holds', async (where) => {
      const { documents } = await stored(subject, document);
      const answer = await documents.transact(shard, [patch('a', { where, set: { seen: true } })]);
      expect(answer).toEqual({ kind: 'committed' });
    });

    test.for<[Condition[]]>([
      [[{ path: 'status', is: '=', value: 'Claimed' }]],
      [[{ path: 'fence', is: '=', value: '5' }]],
      [[{ path: 'fence', is: '<=', value: 4 }]],
      [[{ path: 'fence', is: '<=', value: '9' }]],
      [[{ path: 'status', is: '<=', value: 9 }]],
      [[{ path: 'missing', is: '=', value: 'claimed' }]],
      [[{ path: 'missing', is: '<=', value: 5 }]],
      [[{ path: 'claim', is: '=', value: 'b1' }]],
      [[{ path: 'claim.batchId.x', is: '=', value: 'b1' }]],
      [
        [
          { path: 'status', is: '=', value: 'claimed' },
          { path: 'claim.batchId', is: '=', value: 'b2' },
        ],
      ],
    ])('%j does not hold: refused with 412', ([where], context) =>
      known('conditions', async () => {
        const { documents } = await stored(subject, document);
        const before = await documents.read(shard, ['a']);
        expect(await documents.transact(shard, [patch('a', { where, set: { seen: true } })])).toEqual({
          kind: 'refused',
          codes: [412],
        });
        expect(await documents.read(shard, ['a'])).toEqual(before);
      })(context),
    );

    test(
      'the version and all conditions must hold',
      known('conditions', async () => {
        const { documents } = await stored(subject, document);
        const where: Condition[] = [{ path: 'fence', is: '=', value: 5 }];
        const wrong: Condition[] = [{ path: 'fence', is: '=', value: 6 }];
        const version = await storedVersion(documents);
        const write = (patched: Partial<Patch>) =>
          documents.transact(shard, [patch('a', { ...patched, set: { seen: true } })]);
        expect(await write({ version, where: wrong })).toMatchObject({ codes: [412] });
        expect(await write({ version: '"other"', where })).toMatchObject({ codes: [412] });
        expect(await write({ version, where })).toEqual({ kind: 'committed' });
      }),
    );
  });
}
