import { describe, expect, test } from 'vitest';
import { formatVersion } from '../../../../packages/jobs/src/documents/storedDocuments.ts';
import { newOutboxMessage } from '../../../../packages/jobs/src/outbox/messageMoves.ts';
import type { UpdateRequest } from '../../../../src/invoice/store/invoiceStore.ts';
import { type InvoiceContract, lostAnswers, shard, tries } from './world.ts';

/** Changing one invoice. */
export function updateContract({ world, known, canFail }: InvoiceContract): void {
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
      });
      const [after] = await read('inv-1');
      expect(updated).toMatchObject({
        kind: 'updated',
        before: { status: 'parked', reason: 'why', _etag: before?._etag },
        invoice: { status: 'pending', attempts: 1, _etag: after?._etag },
      });
      expect(after).not.toHaveProperty('reason');
      expect(after?.timeline.at(-1)).toEqual({
        at: '',
        what: 'changed',
        by: 'me',
        write: expect.any(String),
      });
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
      });
      expect(updated).toEqual({ kind: 'refused', why: 'it is paid' });
      expect(await read('inv-1')).toEqual(before);
    });

    test(
      'is decided again if somebody else changed the invoice',
      known('staleVersions', async () => {
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
      known('races', async () => {
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
  };
}
