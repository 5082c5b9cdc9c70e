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
      known('conditions', async () => {
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
      known('races', async () => {
        const { ids, start } = await worldWithClaimed(3);
        const both = await Promise.all([start('b1', ids), start('b1', ids)]);
        for (const { held } of both) expect(held.map(({ invoiceId }) => invoiceId)).toEqual(ids);
        const since = both.map(({ held }) => held.filter(({ calledSince }) => calledSince !== undefined));
        expect(new Set(since.map((called) => called.length))).toEqual(new Set([0, 3]));
      }),
    );

    test(
      'a claim that is taken between the message and the write is dropped',
      known('conditions', async () => {
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
}
