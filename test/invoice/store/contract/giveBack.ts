import { describe, expect, test } from 'vitest';
import { type InvoiceContract, lostAnswers } from './world.ts';

/** Taking back the start of calls that were not made. */
export function giveBackContract({ worldWithClaimed, known, canFail }: InvoiceContract): void {
  describe('giveBack', () => {
    test('what was not called is as it was before the start, and the next delivery starts it', async () => {
      const { ids, start, giveBack, read } = await worldWithClaimed(3);
      const before = await read(...ids);
      await giveBack(await start('b1', ids));
      expect((await read(...ids)).map(({ claim }) => claim)).toMatchObject(
        before.map(({ claim }) => claim ?? {}),
      );
      const { held, calledBefore } = await start('b1', ids);
      expect({ held, calledBefore }).toEqual({
        held: ids.map((invoiceId) => ({ invoiceId })),
        calledBefore: [],
      });
    });

    test('only what is returned', async () => {
      const { ids, start, giveBack, read } = await worldWithClaimed(2);
      const started = await start('b1', ids);
      await giveBack({ ...started, held: started.held.slice(0, 1) });
      expect((await read(...ids)).map(({ claim }) => claim?.phase)).toEqual(['claimed', 'calling']);
    });

    test('a start that was one attempt more leaves what it found: called, on the attempt before', async () => {
      const { ids, start, startAgain, giveBack, read } = await worldWithClaimed(2);
      await start('b1', ids);
      const { calledBefore } = await start('b1', ids);
      await giveBack(await startAgain('b1', calledBefore));
      for (const { attempts, claim } of await read(...ids)) {
        expect({ attempts, attempt: claim?.attempt, phase: claim?.phase }).toEqual({
          attempts: 1,
          attempt: 1,
          phase: 'calling',
        });
      }
    });

    test(
      'nothing that another delivery has started since: it may have charged',
      known('conditions', async () => {
        const { ids, start, startAgain, giveBack, read } = await worldWithClaimed(2);
        const started = await start('b1', ids);
        await startAgain('b1', [{ invoiceId: 'inv-0', earlier: { since: '', attempt: 1 } }]);
        await giveBack({ ...started, held: started.held.slice(0, 1) });
        expect((await read('inv-0'))[0]?.claim).toMatchObject({ phase: 'calling', attempt: 2 });
        await giveBack(started);
        expect((await read(...ids)).map(({ claim }) => claim?.phase)).toEqual(['calling', 'claimed']);
      }),
    );

    test(
      'nothing that another batch has claimed, or that is settled',
      known('conditions', async () => {
        const { ids, start, giveBack, read, touch } = await worldWithClaimed(2);
        const started = await start('b1', ids);
        await touch('inv-0', { 'claim.batchId': 'b2' });
        await touch('inv-1', { status: 'paid' });
        await giveBack(started);
        expect((await read(...ids)).map(({ claim }) => claim?.phase)).toEqual(['calling', 'calling']);
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(lostAnswers)('%s the write: it does not reject', async (answer) => {
        const { ids, start, giveBack, read, lose } = await worldWithClaimed(2);
        const started = await start('b1', ids);
        await lose(answer);
        await giveBack(started);
        const phases = (await read(...ids)).map(({ claim }) => claim?.phase);
        expect(phases).toEqual(Array(2).fill(answer === 'before' ? 'calling' : 'claimed'));
      });
    });
  });
}
