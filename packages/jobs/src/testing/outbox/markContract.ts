import { describe, expect, test } from 'vitest';
import { type DispatchDecision, markDispatched } from '../../outbox/messageMoves.ts';
import type { OutboxMessage } from '../../outbox/outboxMessage.ts';
import { nothingKnown } from '../documents/subject.ts';
import { dispatched, iso, type OutboxSubject, outboxWorld } from './world.ts';

const week = 7 * 24 * 3600;

/** Tests that the outcome of a message is recorded once, unless somebody else was first. */
export function markContract(subject: OutboxSubject): void {
  const { canFail, known = nothingKnown } = subject;

  describe('mark', () => {
    test('a message that was sent: it is dispatched, and expires in a week', async () => {
      const { mark, putOne, read } = await outboxWorld(subject);
      const message = await putOne({});
      expect(await mark([{ message, decision: { kind: 'dispatched' } }])).toEqual({ unclear: 0 });
      const { nextAttemptAt: _, ...rest } = message;
      expect(await read(message)).toEqual({ ...rest, status: 'dispatched', ttl: week });
    });

    test('a message that failed: it is tried again later', async () => {
      const { mark, putOne, read, now } = await outboxWorld(subject);
      const message = await putOne({ attempts: 2 });
      const decision = { kind: 'retry', attempts: 3, at: iso(now + 4_000), error: 'down' } as const;
      expect(await mark([{ message, decision }])).toEqual({ unclear: 0 });
      const changed = { attempts: 3, nextAttemptAt: decision.at, lastError: 'down' };
      expect(await read(message)).toEqual({ ...message, ...changed });
    });

    test('a message that is parked: it is marked, and never expires', async () => {
      const { mark, putOne, read } = await outboxWorld(subject);
      const message = await putOne({ attempts: 9 });
      const decision = { kind: 'parked', attempts: 10, error: 'down' } as const;
      expect(await mark([{ message, decision }])).toEqual({ unclear: 0 });
      const { nextAttemptAt: _, ...rest } = message;
      expect(await read(message)).toEqual({ ...rest, status: 'parked', attempts: 10, lastError: 'down' });
    });

    test('fields of a newer minor release are kept', async () => {
      const { outbox, mark, putOne, read } = await outboxWorld(subject);
      const message = await putOne({ newer: { at: 'the top' } } as Partial<OutboxMessage>);
      const error = 'too large';
      await mark([{ message, decision: { kind: 'parked', attempts: 1, error } }]);
      await outbox.redrive('m-1', iso(0));
      expect(await read(message)).toMatchObject({ newer: { at: 'the top' }, status: 'pending' });
    });

    test('many, in several partitions', async () => {
      const { outbox, mark, put } = await outboxWorld(subject);
      const stored = await put(
        ...Array.from({ length: 130 }, (_, n) => ({ id: `m-${n}`, shard: n < 110 ? '00' : '01' })),
      );
      expect(await mark(stored.map(dispatched))).toEqual({ unclear: 0 });
      expect(await outbox.count({ status: 'dispatched' })).toBe(130);
      expect(await outbox.count({})).toBe(130);
    });

    test.each([
      ['first', 0],
      ['last', 1],
    ])(
      'a message twice, sent and failed (sent %s): it is dispatched, and so are the others',
      async (_, sent) => {
        const { mark, put, read, now } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1' }, { id: 'twice' }, { id: 'm-2' }, { id: 'm-3', shard: '01' });
        const [first, message, ...others] = stored;
        if (!first || !message) throw new Error('expected four');
        const decision = { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'down' } as const;
        const both = [dispatched(message), { message, decision }];
        if (sent === 1) both.reverse();
        const marks = [dispatched(first), ...both, ...others.map(dispatched)];
        expect(await mark(marks)).toEqual({ unclear: 0 });
        for (const each of stored)
          expect(await read(each)).toMatchObject({ status: 'dispatched', attempts: 0 });
      },
    );

    test('nothing', async () => {
      const { mark } = await outboxWorld(subject);
      expect(await mark([])).toEqual({ unclear: 0 });
    });

    test(
      'not what somebody else has recorded since; the others are marked',
      known('conditions', async () => {
        const { mark, put, touch, read, now } = await outboxWorld(subject);
        const stored = await put(
          { id: 'sent' },
          { id: 'failed' },
          { id: 'mine' },
          { id: 'parked' },
          { id: 'mine-too' },
        );
        const [sent, failed, , parked] = stored;
        if (!sent || !failed || !parked) throw new Error('expected five');
        await touch(sent, { status: 'dispatched' });
        await touch(failed, { attempts: 1, nextAttemptAt: iso(now + 1_000) });
        await touch(parked, { status: 'parked' });
        const before = await Promise.all([sent, failed, parked].map(read));
        const missing = { ...sent, id: 'missing' };
        expect(await mark([...stored, missing].map(dispatched))).toEqual({ unclear: 0 });
        expect(await Promise.all([sent, failed, parked].map(read))).toEqual(before);
        for (const id of ['mine', 'mine-too']) {
          expect(await read({ id, shard: '00' })).toMatchObject({ status: 'dispatched', ttl: week });
        }
      }),
    );

    test(
      'of two marks at once one is recorded',
      known('races', async () => {
        const { mark, put, read, now } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        const decisions = [
          { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'one' },
          { kind: 'retry', attempts: 1, at: iso(now + 1_000), error: 'two' },
        ] as const;
        const both = await Promise.all(
          decisions.map((decision) => mark(stored.map((message) => ({ message, decision })))),
        );
        expect(both).toEqual([{ unclear: 0 }, { unclear: 0 }]);
        const marked = await Promise.all(stored.map(read));
        expect(new Set(marked.map(({ lastError }) => lastError)).size).toBe(1);
        expect(marked).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
      }),
    );

    describe.runIf(canFail)('when answers are lost', () => {
      test.each(['before', 'after'] as const)(
        '%s the write: unclear, and no time is lost',
        async (answer) => {
          const { mark, put, read, lose, clock } = await outboxWorld(subject);
          const stored = await put({ id: 'm-1' }, { id: 'm-2' });
          await lose(answer);
          expect(await mark(stored.map(dispatched))).toEqual({ unclear: 2 });
          expect(clock.slept).toEqual([]);
          const status = answer === 'after' ? 'dispatched' : 'pending';
          for (const message of stored) expect(await read(message)).toMatchObject({ status });
        },
      );

      test('a write that the client repeats is recorded once', async () => {
        const { mark, put, read, lose, now } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        await lose('echo');
        const decision: DispatchDecision = { kind: 'retry', attempts: 1, at: iso(now), error: 'down' };
        expect(await mark(stored.map((message) => ({ message, decision })))).toEqual({ unclear: 0 });
        for (const message of stored) {
          expect(await read(message)).toMatchObject({ attempts: 1, lastError: 'down' });
        }
      });

      test('one partition without an answer does not hold up the others', async () => {
        const { outbox, mark, put, lose, now } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1', shard: '01' }, { id: 'm-2', shard: '02' });
        await lose('before');
        expect(await mark(stored.map(dispatched))).toEqual({ unclear: 1 });
        expect((await outbox.due({ now: iso(now), limit: 10 })).messages).toHaveLength(1);
      });

      test('if somebody else was faster and the reread fails: unclear, and no time is lost', async () => {
        const { mark, put, touch, failReads, clock } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1' }, { id: 'm-2' });
        await touch({ id: 'm-1', shard: '00' }, { attempts: 1 });
        await failReads();
        expect(await mark(stored.map(dispatched))).toEqual({ unclear: 2 });
        expect(clock.slept).toEqual([]);
      });

      test('a store that refuses the app: they are unclear, and nothing rejects', async () => {
        const { denied, put, clock } = await outboxWorld(subject);
        const stored = await put({ id: 'm-1' });
        expect(await markDispatched({ documents: denied.documents, clock }, stored.map(dispatched))).toEqual({
          unclear: 1,
        });
      });
    });
  });
}
