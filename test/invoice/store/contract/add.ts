import { describe, expect, test } from 'vitest';
import { newOutboxMessage } from '../../../../packages/jobs/src/outbox/messageMoves.ts';
import { shardOf } from '../../../../src/invoice/shard.ts';
import { addAll } from '../../../support/importing.ts';
import { contentsOf, type InvoiceContract, iso, lostAnswers, shard, tries } from './world.ts';

/** Storing new invoices. */
export function addContract({ world, known, canFail }: InvoiceContract): void {
  describe('add', () => {
    const shards = 4;
    const options = { by: 'importer', withinMs: 60_000 };

    test('stores new invoices in their shards, pending and due at their time', async () => {
      const { invoices, documents, clock } = await world({ shards });
      const contents = contentsOf(40);
      const { outcomes, failure } = await addAll(invoices, contents, options);
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
      const { outcomes } = await addAll(invoices, contentsOf(230), options);
      expect([...outcomes.values()].filter((outcome) => outcome === 'created')).toHaveLength(230);
      expect((await invoices.counts(iso(0))).byStatus).toEqual(new Map([['pending', 230]]));
    });

    test('an empty list stores nothing', async () => {
      const { invoices } = await world();
      expect(await addAll(invoices, [], options)).toEqual({ outcomes: new Map() });
    });

    test('says of each what is stored already, and stores the others', async () => {
      const { invoices, put, create, read } = await world();
      const [fresh, same, moved, other, taken, last] = contentsOf(6);
      if (!fresh || !same || !moved || !other || !taken || !last) throw new Error('expected six');
      await put({ ...same }, { ...moved, status: 'paid', attempts: 2 }, { ...other, amountMinor: 5 });
      await create(newOutboxMessage({ id: taken.id, shard, destination: 'work-items', body: [] }, 0));
      const before = await read(same.id, moved.id, other.id, taken.id);
      const { outcomes, failure } = await addAll(invoices, [fresh, same, moved, other, taken, last], options);
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
      known('races', async () => {
        const { invoices } = await world({ shards });
        const contents = contentsOf(40);
        const both = await Promise.all([
          addAll(invoices, contents, options),
          addAll(invoices, contents, options),
        ]);
        for (const { id } of contents) {
          expect(both.map(({ outcomes }) => `${outcomes.get(id)}`).toSorted()).toEqual([
            'created',
            'duplicate',
          ]);
        }
        expect((await invoices.counts(iso(0))).byStatus).toEqual(new Map([['pending', 40]]));
      }),
    );

    test('once the time is up nothing more is stored', async () => {
      const { invoices } = await world();
      const contents = contentsOf(2);
      const { outcomes, failure } = await addAll(invoices, contents, { ...options, withinMs: -1 });
      expect([...outcomes.values()]).toEqual(['notStored', 'notStored']);
      expect(failure).toBeInstanceOf(Error);
      expect((await invoices.counts(iso(0))).byStatus).toEqual(new Map());
    });

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: each is stored once', async (answer) => {
        const { invoices, lose } = await world();
        await lose(answer);
        const { outcomes, failure } = await addAll(invoices, contentsOf(3), options);
        // The answer to a repeated write says nothing of the first try: it looks as if somebody else had stored
        // the same.
        const outcome = answer === 'echo' ? 'duplicate' : 'created';
        expect([...outcomes.values()]).toEqual([outcome, outcome, outcome]);
        expect(failure).toBeUndefined();
        expect((await invoices.counts(iso(0))).byStatus).toEqual(new Map([['pending', 3]]));
      });

      test.each(['before', 'after'] as const)('%s the write, and the reread too', async (answer) => {
        const { invoices, lose, failReads } = await world();
        await lose(answer);
        await failReads();
        const { outcomes } = await addAll(invoices, contentsOf(3), options);
        expect([...outcomes.values()]).toEqual(['created', 'created', 'created']);
      });

      test('what was stored before is a duplicate even then', async () => {
        const { invoices, put, lose, clock } = await world();
        const [stored, fresh] = contentsOf(2);
        if (!stored || !fresh) throw new Error('expected two');
        await put({ ...stored, createdAt: iso(clock.now() - 1) });
        await lose('before');
        const { outcomes } = await addAll(invoices, [stored, fresh], options);
        expect([...outcomes.values()].toSorted()).toEqual(['created', 'duplicate']);
        expect(outcomes.get(fresh.id)).toBe('created');
      });

      test('without a clear answer: unclear, with the failure', async () => {
        const { invoices, lose } = await world();
        await lose('before', tries);
        const { outcomes, failure } = await addAll(invoices, contentsOf(2), options);
        expect([...outcomes.values()]).toEqual(['unclear', 'unclear']);
        expect(failure).toMatchObject({ name: 'NoClearAnswer' });
      });

      test('if the time is up before an answer is clear: unclear', async () => {
        const { invoices, lose } = await world();
        await lose('before', tries);
        const { outcomes, failure } = await addAll(invoices, contentsOf(2), { ...options, withinMs: 300 });
        expect([...outcomes.values()]).toEqual(['unclear', 'unclear']);
        expect(failure).toMatchObject({ message: expect.stringContaining('the time for storing') as string });
      });

      test('a store that refuses the app: nothing is stored, and nothing rejects', async () => {
        const { denied, clock } = await world();
        const { outcomes, failure } = await addAll(
          denied.invoices({ clock, shards: 1 }),
          contentsOf(2),
          options,
        );
        expect([...outcomes.values()]).toEqual(['notStored', 'notStored']);
        expect(failure).toMatchObject({ name: 'StoreAway', reason: 'accessDenied' });
      });
    });
  });
}
