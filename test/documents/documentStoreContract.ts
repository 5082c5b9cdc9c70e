import { describe, expect, test } from 'vitest';
import {
  type Condition,
  type Create,
  type DocumentStore,
  maxOperations,
  type Operation,
  type Patch,
} from '../../src/documents/documentStore.ts';
import { type Deviation, deviates } from '../support/officialEmulators.ts';
import type { StoreSubject } from '../support/storeSubject.ts';

const shard = '00';

/** How a document store behaves. Each store must pass it. */
export function documentStoreContract(subject: StoreSubject): void {
  const { open, canFail, onEmulator } = subject;
  /** Tests of what the official emulator gets wrong. */
  const known = (deviation: Deviation, body: () => Promise<void>) => deviates(deviation, body, onEmulator);

  describe('create and read', () => {
    test('a document is read as it was written, with a version', async () => {
      const { documents } = await open();
      const document = {
        id: 'a',
        shard,
        text: `it's "quoted" \\ ü 💶`,
        deep: { list: [1, { two: null }], empty: {} },
      };
      expect(await documents.transact(shard, [create(document)])).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toEqual([
        expect.objectContaining({ ...document, _etag: expect.stringMatching(/./) }),
      ]);
    });

    test('missing documents are left out, and each comes once', async () => {
      const { documents } = await open();
      await documents.transact(shard, [create({ id: 'a' }), create({ id: 'b' })]);
      expect(ids(await documents.read(shard, ['b', 'x', 'a', 'b']))).toEqual(['a', 'b']);
      expect(await documents.read(shard, ['x'])).toEqual([]);
      expect(await documents.read(shard, [])).toEqual([]);
    });

    test('partitions know nothing of each other', async () => {
      const { documents } = await open();
      await documents.transact('00', [create({ id: 'a', n: 0 })]);
      expect(await documents.transact('01', [create({ id: 'a', n: 1, shard: '01' })])).toMatchObject({
        kind: 'committed',
      });
      expect(await documents.transact('01', [patch('b', { set: { n: 2 } })])).toMatchObject({ codes: [404] });
      expect(await documents.read('00', ['a'])).toMatchObject([{ n: 0 }]);
      expect(await documents.read('01', ['a'])).toMatchObject([{ n: 1 }]);
    });

    test('an id that is taken is refused with 409, and the document stays as it is', async () => {
      const { documents } = await open();
      await documents.transact(shard, [create({ id: 'a', n: 1 })]);
      const before = await documents.read(shard, ['a']);
      expect(await documents.transact(shard, [create({ id: 'a', n: 2 })])).toEqual({
        kind: 'refused',
        codes: [409],
      });
      expect(await documents.read(shard, ['a'])).toEqual(before);
    });

    test.each([{ id: 'a/b' }, { id: 'a?b' }, { id: 'a#b' }, { id: 'a\\b' }, { id: 'x'.repeat(1024) }])(
      'an id that no document can have is refused with 400: $id',
      async ({ id }) => {
        const { documents } = await open();
        expect(await documents.transact(shard, [create({ id })])).toEqual({ kind: 'refused', codes: [400] });
      },
    );

    test('a document of another partition is refused with 400', async () => {
      const { documents } = await open();
      expect(await documents.transact('01', [create({ id: 'a', shard: '00' })])).toEqual({
        kind: 'refused',
        codes: [400],
      });
    });

    test('what the caller does to its objects afterwards changes nothing', async () => {
      const { documents } = await open();
      const document = { id: 'a', shard, list: ['one'], at: { n: 1 } };
      await documents.transact(shard, [create(document)]);
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
      const { documents } = await stored({ n: 1, claim: { by: 'a', phase: 'claimed' }, keep: [1] });
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
      const { documents } = await stored({ claim: { by: 'a', phase: 'claimed' } });
      await documents.transact(shard, [patch('a', { set: { claim: { by: 'b' } } })]);
      const [document] = (await documents.read(shard, ['a'])) as { claim: object }[];
      expect(document?.claim).toEqual({ by: 'b' });
    });

    test('removes fields, nested ones too', async () => {
      const { documents } = await stored({ n: 1, claim: { by: 'a', phase: 'claimed' } });
      await documents.transact(shard, [patch('a', { remove: ['n', 'claim.by'] })]);
      const [document] = (await documents.read(shard, ['a'])) as { claim: object }[];
      expect(document).not.toHaveProperty('n');
      expect(document?.claim).toEqual({ phase: 'claimed' });
    });

    test('appends to the end of an array', async () => {
      const { documents } = await stored({ timeline: [{ n: 1 }], deep: { list: [] } });
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
      const { documents } = await stored({ text: 'short' });
      const before = await documents.read(shard, ['a']);
      const operations = [patch('a', { ...change, set: { ...change.set } })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'refused', codes: [400] });
      expect(await documents.read(shard, ['a'])).toEqual(before);
    });

    test('takes ten changes', async () => {
      const { documents } = await stored({ gone: 1, list: [] });
      const change = { set: fields(8), remove: ['gone'], append: { path: 'list', value: 1 } };
      expect(await documents.transact(shard, [patch('a', change)])).toEqual({ kind: 'committed' });
    });

    test('a document that is not there is refused with 404, whatever the condition', async () => {
      const { documents } = await open();
      const where: Condition[] = [{ path: 'n', is: '=', value: 1 }];
      for (const change of [{}, { version: '"x"' }, { where }]) {
        expect(await documents.transact(shard, [patch('a', { ...change, set: { n: 1 } })])).toEqual({
          kind: 'refused',
          codes: [404],
        });
      }
    });
  });

  describe('versions', () => {
    test('each write changes the version, even one that changes nothing', async () => {
      const { documents } = await stored({ n: 1 });
      const versions = [await versionOf(documents)];
      for (const n of [2, 2, 3]) {
        await documents.transact(shard, [patch('a', { set: { n } })]);
        versions.push(await versionOf(documents));
      }
      expect(new Set(versions).size).toBe(versions.length);
    });

    test('a write on another document leaves it as it is', async () => {
      const { documents } = await stored({ n: 1 });
      const version = await versionOf(documents);
      await documents.transact(shard, [create({ id: 'b' })]);
      await documents.transact(shard, [patch('b', { set: { n: 2 } })]);
      expect(await versionOf(documents)).toBe(version);
    });

    test(
      'a patch of a version applies once: the second is refused with 412',
      known('staleVersions', async () => {
        const { documents } = await stored({ n: 1 });
        const version = await versionOf(documents);
        const write = [patch('a', { version, set: { n: 2 } })];
        expect(await documents.transact(shard, write)).toEqual({ kind: 'committed' });
        expect(await documents.transact(shard, write)).toEqual({ kind: 'refused', codes: [412] });
      }),
    );

    test(
      'of many patches of one version at once, one is committed',
      known('races', async () => {
        const { documents } = await stored({ log: [] });
        const version = await versionOf(documents);
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            documents.transact(shard, [
              patch('a', { version, append: { path: 'log', value: n } }),
              create({ id: `n${n}` }),
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
      const { documents } = await stored(document);
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
        const { documents } = await stored(document);
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
        const { documents } = await stored(document);
        const where: Condition[] = [{ path: 'fence', is: '=', value: 5 }];
        const wrong: Condition[] = [{ path: 'fence', is: '=', value: 6 }];
        const version = await versionOf(documents);
        const write = (patched: Partial<Patch>) =>
          documents.transact(shard, [patch('a', { ...patched, set: { seen: true } })]);
        expect(await write({ version, where: wrong })).toMatchObject({ codes: [412] });
        expect(await write({ version: '"other"', where })).toMatchObject({ codes: [412] });
        expect(await write({ version, where })).toEqual({ kind: 'committed' });
      }),
    );
  });

  describe('transactions', () => {
    test('all operations are applied', async () => {
      const { documents } = await stored({ n: 1 });
      const operations = [create({ id: 'b' }), patch('a', { set: { n: 2 } }), create({ id: 'c' })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toMatchObject([{ n: 2 }]);
      expect(ids(await documents.read(shard, ['b', 'c']))).toEqual(['b', 'c']);
    });

    test.for<[string, Operation, number]>([
      ['a taken id', create({ id: 'a' }), 409],
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
        const { documents } = await stored({ n: 1 });
        const before = await documents.read(shard, ['a']);
        const operations = [patch('a', { set: { first: true } }), create({ id: 'b' }), culprit];
        expect(await documents.transact(shard, [...operations, create({ id: 'c' })])).toEqual({
          kind: 'refused',
          codes: [424, 424, code, 424],
        });
        expect(await documents.read(shard, ['a', 'b', 'c'])).toEqual(before);
      })(context),
    );

    test('of two operations at fault, the first has its own code', async () => {
      const { documents } = await stored({});
      const operations = [create({ id: 'b' }), patch('x', { set: { n: 1 } }), create({ id: 'a' })];
      expect(await documents.transact(shard, operations)).toEqual({
        kind: 'refused',
        codes: [424, 404, 424],
      });
    });

    test('operations see those before them', async () => {
      const { documents } = await open();
      const where: Condition[] = [{ path: 'n', is: '=', value: 1 }];
      const operations = [create({ id: 'a', n: 1 }), patch('a', { where, set: { n: 2 } })];
      expect(await documents.transact(shard, operations)).toEqual({ kind: 'committed' });
      expect(await documents.read(shard, ['a'])).toMatchObject([{ n: 2 }]);
    });

    test(`${maxOperations} operations are the most`, async () => {
      const { documents } = await open();
      const many = (length: number) => Array.from({ length }, (_, n) => create({ id: `n${n}` }));
      await expect(documents.transact(shard, many(maxOperations + 1))).rejects.toThrow(/operations/);
      expect(await documents.read(shard, ['n0'])).toEqual([]);
      expect(await documents.transact(shard, many(maxOperations))).toEqual({ kind: 'committed' });
    });

    test('one without operations is a mistake', async () => {
      const { documents } = await open();
      await expect(documents.transact(shard, [])).rejects.toThrow(/operations/);
    });
  });

  describe.runIf(canFail)('answers that are lost', () => {
    test.each(['before', 'after'] as const)('%s the write: uncertain', async (answer) => {
      const { documents, lose } = await open();
      await lose(answer);
      expect(await documents.transact(shard, [create({ id: 'a' })])).toMatchObject({ kind: 'uncertain' });
      expect(await documents.read(shard, ['a'])).toHaveLength(answer === 'after' ? 1 : 0);
      expect(await documents.transact(shard, [create({ id: 'b' })])).toEqual({ kind: 'committed' });
    });

    test('a write that the client repeats: the refusal is the echo of the first try', async () => {
      const { documents, lose } = await open();
      await lose('echo');
      expect(await documents.transact(shard, [create({ id: 'a' })])).toEqual({
        kind: 'refused',
        codes: [409],
      });
      expect(await documents.read(shard, ['a'])).toHaveLength(1);
    });

    test('a read without an answer rejects with StoreAway', async () => {
      const { documents, failReads } = await open();
      await failReads();
      await expect(documents.read(shard, ['a'])).rejects.toMatchObject({
        name: 'StoreAway',
        reason: 'noAnswer',
      });
      expect(await documents.read(shard, ['a'])).toEqual([]);
    });

    test('a store that refuses the app rejects with StoreAway', async () => {
      const { documents } = (await open()).denied;
      const denied = { name: 'StoreAway', reason: 'accessDenied' };
      await expect(documents.read(shard, ['a'])).rejects.toMatchObject(denied);
      await expect(documents.transact(shard, [create({ id: 'a' })])).rejects.toMatchObject(denied);
    });
  });

  /** A store with a single document, `a`. */
  async function stored(document: object): Promise<{ documents: DocumentStore }> {
    const { documents } = await open();
    await documents.transact(shard, [create({ id: 'a', ...document })]);
    return { documents };
  }
}

function create(document: { id: string } & Record<string, unknown>): Create {
  return { kind: 'create', document: { shard, ...document } as Create['document'] };
}

function patch(id: string, change: Partial<Patch>): Patch {
  return { ...change, kind: 'patch', id };
}

function fields(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`field${n}`, n]));
}

async function versionOf(documents: DocumentStore): Promise<string> {
  const [document] = (await documents.read(shard, ['a'])) as { _etag: string }[];
  return document?._etag ?? '';
}

function ids(documents: readonly unknown[]): string[] {
  return documents.map((document) => (document as { id: string }).id).toSorted();
}
