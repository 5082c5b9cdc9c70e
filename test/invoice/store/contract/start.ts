import { describe, expect, test } from 'vitest';
import type { Invoice } from '../../../../src/invoice/invoice.ts';
import { aClaimedInvoice } from '../../../support/anInvoice.ts';
import { type InvoiceContract, iso, lostAnswers, tries } from './world.ts';

/** Marking a batch as being called. */
export function startContract({ world, worldWithClaimed, known, canFail }: InvoiceContract): void {
  describe('start', () => {
    test('marks the claims as being called, until they go stale again', async () => {
      const { ids, start, read, clock } = await worldWithClaimed(3);
      const before = await read(...ids);
      const started = await start('b1', ids);
      expect(started).toMatchObject({
        held: ids.map((invoiceId) => ({ invoiceId })),
        calledBefore: [],
        dropped: { settled: 0, staleClaim: 0, missing: 0 },
      });
      expect(await read(...ids)).toMatchObject(
        before.map(({ claim, timeline, payment }) => ({
          status: 'claimed',
          claim: { ...claim, phase: 'calling', startedBy: started.starting.startId },
          actionableAt: iso(clock.now() + 300_000),
          timeline,
          payment,
        })),
      );
    });

    test('stores since when a key is in use, if it is told', async () => {
      const { ids, startAgain, read } = await worldWithClaimed(2);
      const before = await read(...ids);
      const keyCreatedAt = '2026-01-01T11:00:00.000Z';
      await startAgain('b1', [{ invoiceId: 'inv-0', keyCreatedAt }, { invoiceId: 'inv-1' }]);
      expect((await read(...ids)).map(({ payment }) => payment)).toEqual([
        { ...before[0]?.payment, keyCreatedAt },
        before[1]?.payment,
      ]);
    });

    test(
      'drops what the batch has no claim on any more, and starts the rest',
      known('conditions', async () => {
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
        expect(await start('b1', all)).toMatchObject({
          held: [{ invoiceId: 'held-1' }, { invoiceId: 'held-2' }],
          dropped: { settled: 3, staleClaim: 2, missing: 1 },
        });
        expect(await read('taken', 'pending', 'paid', 'declined', 'parked')).toEqual(others);
        expect(await start('b1', ['taken', 'missing'])).toMatchObject({
          held: [],
          dropped: { settled: 0, staleClaim: 1, missing: 1 },
        });
      }),
    );

    test(
      'leaves out what another delivery has begun to call, and says since when and on which attempt',
      known('conditions', async () => {
        const { put, start, read } = await world();
        const since = aClaimedInvoice().claim?.at;
        await put(
          aClaimedInvoice({ id: 'called', attempts: 2 }),
          aClaimedInvoice({ id: 'untouched' }, { phase: 'claimed' }),
        );
        const before = await read('called');
        expect(await start('b1', ['called', 'untouched'])).toMatchObject({
          held: [{ invoiceId: 'untouched' }],
          calledBefore: [{ invoiceId: 'called', earlier: { since, attempt: 2 } }],
          dropped: { settled: 0, staleClaim: 0, missing: 0 },
        });
        expect(await read('called')).toEqual(before);
        expect((await read('untouched'))[0]?.claim?.phase).toBe('calling');
      }),
    );

    test(
      'of two at once one holds the claims, and the other is told that calls have begun',
      known('races', async () => {
        const { ids, start } = await worldWithClaimed(3);
        const both = await Promise.all([start('b1', ids), start('b1', ids)]);
        expect(new Set(both.map(({ held }) => held.length))).toEqual(new Set([0, 3]));
        expect(new Set(both.map(({ calledBefore }) => calledBefore.length))).toEqual(new Set([0, 3]));
      }),
    );

    test('what is called again is one attempt more, and its timeline says so', async () => {
      const { ids, start, startAgain, read, clock } = await worldWithClaimed(2);
      await start('b1', ids);
      const { calledBefore } = await start('b1', ids);
      const { held, starting } = await startAgain('b1', calledBefore);
      expect(held).toEqual(calledBefore);
      for (const invoice of await read(...ids)) {
        expect(invoice).toMatchObject({
          attempts: 2,
          claim: { attempt: 2, phase: 'calling', startedBy: starting.startId },
          actionableAt: iso(clock.now() + 300_000),
        });
        expect(invoice.timeline.at(-1)).toMatchObject({
          what: 'called again',
          by: 'host-b',
          attempt: 2,
          batchId: 'b1',
        });
      }
    });

    test(
      'of two that call again one does',
      known('conditions', async () => {
        const { ids, start, startAgain, read } = await worldWithClaimed(2);
        await start('b1', ids);
        const { calledBefore } = await start('b1', ids);
        const first = await startAgain('b1', calledBefore);
        const second = await startAgain('b1', calledBefore);
        expect([first.held, second.held]).toEqual([calledBefore, []]);
        expect(second.calledBefore.map(({ earlier }) => earlier.attempt)).toEqual([2, 2]);
        for (const { claim } of await read(...ids)) expect(claim?.attempt).toBe(2);
      }),
    );

    test(
      'a claim that is taken between the message and the write is dropped',
      known('conditions', async () => {
        const { ids, start, interleave, touch } = await worldWithClaimed(2);
        interleave(() => touch('inv-0', { 'claim.batchId': 'b2' }));
        expect(await start('b1', ids)).toMatchObject({
          held: [{ invoiceId: 'inv-1' }],
          dropped: { settled: 0, staleClaim: 1, missing: 0 },
        });
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: all are held', async (answer) => {
        const { ids, start, read, lose } = await worldWithClaimed(3);
        await lose(answer);
        const { held, calledBefore, dropped, starting } = await start('b1', ids);
        expect(held).toEqual(ids.map((invoiceId) => ({ invoiceId })));
        expect(calledBefore, 'a start is known by its own name').toEqual([]);
        expect(dropped).toEqual({ settled: 0, staleClaim: 0, missing: 0 });
        for (const invoice of await read(...ids)) {
          expect(invoice).toMatchObject({
            claim: { phase: 'calling', startedBy: starting.startId },
            actionableAt: starting.staleAt,
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
}
