import { describe, expect, test } from 'vitest';
import type { Condition, Patch } from '../../documents/documentStore.ts';
import type { DocumentsSubject } from './subject.ts';
import { creation, fields, ids, patch, shard, stored } from './world.ts';

/** Tests that what is written is read, and that a patch changes what it names. */
export function readAndPatchContract(subject: DocumentsSubject): void {
  describe('create and read', () => {
    test('a document is read as it was written, with a version', async () => {
      const { documents } = await subject.open();
      const document = {
        id: 'a',
        shard,
        text: `it's "quoted" \\ ü 💶`,
        deep: { list: [1, { two: null }], empty: {} },
      };
      expect(await documents.transact(shard, [creation(document)])).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toEqual([
        expect.objectContaining({ ...document, _etag: expect.stringMatching(/./) }),
      ]);
    });

    test('missing documents are left out, and each comes once', async () => {
      const { documents } = await subject.open();
      await documents.transact(shard, [creation({ id: 'a' }), creation({ id: 'b' })]);
      expect(ids(await documents.read(shard, ['b', 'x', 'a', 'b']))).toEqual(['a', 'b']);
      expect(await documents.read(shard, ['x'])).toEqual([]);
      expect(await documents.read(shard, [])).toEqual([]);
    });

    test('partitions know nothing of each other', async () => {
      const { documents } = await subject.open();
      await documents.transact('00', [creation({ id: 'a', n: 0 })]);
      expect(await documents.transact('01', [creation({ id: 'a', n: 1, shard: '01' })])).toMatchObject({
        kind: 'committed',
      });
      expect(await documents.transact('01', [patch('b', { set: { n: 2 } })])).toMatchObject({ codes: [404] });
      expect(await documents.read('00', ['a'])).toMatchObject([{ n: 0 }]);
      expect(await documents.read('01', ['a'])).toMatchObject([{ n: 1 }]);
    });

    test('an id that is taken is refused with 409, and the document stays as it is', async () => {
      const { documents } = await subject.open();
      await documents.transact(shard, [creation({ id: 'a', n: 1 })]);
      const before = await documents.read(shard, ['a']);
      expect(await documents.transact(shard, [creation({ id: 'a', n: 2 })])).toEqual({
        kind: 'refused',
        codes: [409],
      });
      expect(await documents.read(shard, ['a'])).toEqual(before);
    });

    test.each([{ id: 'a/b' }, { id: 'a#b' }, { id: 'a\\b' }, { id: 'x'.repeat(1024) }])(
      'an id that no document can have is refused with 400: $id',
      async ({ id }) => {
        const { documents } = await subject.open();
        expect(await documents.transact(shard, [creation({ id })])).toEqual({
          kind: 'refused',
          codes: [400],
        });
      },
    );

    test('a document of another partition is refused with 400', async () => {
      const { documents } = await subject.open();
      expect(await documents.transact('01', [creation({ id: 'a', shard: '00' })])).toEqual({
        kind: 'refused',
        codes: [400],
      });
    });

    test('what the caller does to its objects afterwards changes nothing', async () => {
      const { documents } = await subject.open();
      const document = { id: 'a', shard, list: ['one'], at: { n: 1 } };
      await documents.transact(shard, [creation(document)]);
      document.list.push('two');
      const value = { n: 2 };
      await documents.transact(shard, [patch('a', { set: { at: value } })]);
      value.n = 3;
      const [read] = (await documents.read(shard, ['a'])) as (typeof document)[];
      read?.list.push('three');
      expect(await documents.read(shard, ['a'])).toMatchObject([{ list: ['one'], at: { n: 2 } }]);
    });
  });

  describe('patch', () => {
    test('sets fields, nested ones too, and leaves the rest', async () => {
      const { documents } = await stored(subject, { n: 1, claim: { by: 'a', phase: 'claimed' }, keep: [1] });
      expect(
        await documents.transact(shard, [
          patch('a', { set: { n: 2, fresh: null, 'claim.phase': 'calling', 'claim.since': { at: 'now' } } }),
        ]),
      ).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toMatchObject([
        {
          n: 2,
          fresh: null,
          claim: { by: 'a', phase: 'calling', since: { at: 'now' } },
          keep: [1],
        },
      ]);
    });

    test('an object that is set replaces the old one', async () => {
      const { documents } = await stored(subject, { claim: { by: 'a', phase: 'claimed' } });
      await documents.transact(shard, [patch('a', { set: { claim: { by: 'b' } } })]);
      const [document] = (await documents.read(shard, ['a'])) as { claim: object }[];
      expect(document?.claim).toEqual({ by: 'b' });
    });

    test('removes fields, nested ones too', async () => {
      const { documents } = await stored(subject, { n: 1, claim: { by: 'a', phase: 'claimed' } });
      await documents.transact(shard, [patch('a', { remove: ['n', 'claim.by'] })]);
      const [document] = (await documents.read(shard, ['a'])) as { claim: object }[];
      expect(document).not.toHaveProperty('n');
      expect(document?.claim).toEqual({ phase: 'claimed' });
    });

    test('appends to the end of an array', async () => {
      const { documents } = await stored(subject, { timeline: [{ n: 1 }], deep: { list: [] } });
      await documents.transact(shard, [patch('a', { append: { path: 'timeline', value: { n: 2 } } })]);
      await documents.transact(shard, [patch('a', { append: { path: 'deep.list', value: [3] } })]);
      expect(await documents.read(shard, ['a'])).toMatchObject([
        { timeline: [{ n: 1 }, { n: 2 }], deep: { list: [[3]] } },
      ]);
    });

    test.each<[string, Partial<Patch>]>([
      ['to set a field of what is not there', { set: { 'claim.phase': 'calling' } }],
      ['to set a field of a text', { set: { 'text.phase': 'calling' } }],
      ['to set the id', { set: { id: 'b' } }],
      ['to set the partition key', { set: { shard: '01' } }],
      ['to remove what is not there', { remove: ['claim'] }],
      ['to remove a field of what is not there', { remove: ['claim.by'] }],
      ['to append to what is not there', { append: { path: 'timeline', value: 1 } }],
      ['to append to a text', { append: { path: 'text', value: 1 } }],
      ['to change nothing', {}],
      ['more than ten changes', { set: fields(11) }],
    ])('refuses %s, with 400, and changes nothing', async (_, change) => {
      const { documents } = await stored(subject, { text: 'short' });
      const before = await documents.read(shard, ['a']);
      const operations = [patch('a', { ...change, set: { ...change.set } })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'refused', codes: [400] });
      expect(await documents.read(shard, ['a'])).toEqual(before);
    });

    test('takes ten changes', async () => {
      const { documents } = await stored(subject, { gone: 1, list: [] });
      const change = { set: fields(8), remove: ['gone'], append: { path: 'list', value: 1 } };
      expect(await documents.transact(shard, [patch('a', change)])).toEqual({ kind: 'committed' });
    });

    test('a document that is not there is refused with 404, whatever the condition', async () => {
      const { documents } = await subject.open();
      const where: Condition[] = [{ path: 'n', is: '=', value: 1 }];
      for (const change of [{}, { version: '"x"' }, { where }]) {
        expect(await documents.transact(shard, [patch('a', { ...change, set: { n: 1 } })])).toEqual({
          kind: 'refused',
          codes: [404],
        });
      }
    });
  });
}
