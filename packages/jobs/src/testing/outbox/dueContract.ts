import { describe, expect, test } from 'vitest';
import { formatVersion } from '../../documents/storedDocuments.ts';
import type { DueQuery } from '../../outbox/outboxStore.ts';
import { idsOf, iso, type OutboxSubject, outboxWorld } from './world.ts';

/** Which messages the sweeper gets. */
export function dueContract(subject: OutboxSubject): void {
  describe('due', () => {
    test('pending messages of all partitions whose time has come, longest waiting first', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      await put(
        { id: 'third', nextAttemptAt: iso(now) },
        { id: 'later', nextAttemptAt: iso(now + 1) },
        { id: 'first', shard: '01', nextAttemptAt: iso(now - 3_000) },
        { id: 'second', shard: '02', nextAttemptAt: iso(now - 2_000) },
      );
      const { messages, more } = await outbox.due({ now: iso(now), limit: 10 });
      expect(idsOf(messages)).toEqual(['first', 'second', 'third']);
      expect(more).toBe(false);
    });

    test('of one partition only, and without some partitions and destinations, if asked', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      await put(
        { id: 'm-0', shard: '00' },
        { id: 'm-1', shard: '01' },
        { id: 'm-2', shard: '02' },
        { id: 'm-3', shard: '02', destination: 'letters' },
      );
      const ids = async (query: Partial<DueQuery>) =>
        idsOf((await outbox.due({ now: iso(now), limit: 10, ...query })).messages).toSorted();
      expect(await ids({ shard: '02' })).toEqual(['m-2', 'm-3']);
      expect(await ids({ except: { shards: ['00', '01'], destinations: [] } })).toEqual(['m-2', 'm-3']);
      expect(await ids({ except: { shards: [], destinations: ['letters'] } })).toEqual(['m-0', 'm-1', 'm-2']);
      const both = { shards: ['00'], destinations: ['letters'] };
      expect(await ids({ except: both })).toEqual(['m-1', 'm-2']);
      expect(await ids({ shard: '02', except: both })).toEqual(['m-2']);
    });

    test('messages come as they are stored', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      const stored = await put({
        notBefore: iso(now),
        attempts: 2,
        lastError: 'down',
        body: { any: ['json'] },
      });
      expect(await outbox.due({ now: iso(now), limit: 10 })).toEqual({ messages: stored, more: false });
    });

    test('none but pending ones', async () => {
      const { outbox, mark, put, now } = await outboxWorld(subject);
      const stored = await put({ id: 'sent' }, { id: 'parked' });
      const [sent, parked] = stored;
      if (!sent || !parked) throw new Error('expected two');
      await mark([
        { message: sent, decision: { kind: 'dispatched' } },
        { message: parked, decision: { kind: 'parked', attempts: 1, error: 'too large' } },
      ]);
      expect(await outbox.due({ now: iso(now), limit: 10 })).toEqual({ messages: [], more: false });
    });

    test('as many as asked for, and whether there may be others', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      await put(...Array.from({ length: 3 }, (_, n) => ({ id: `m-${n}`, nextAttemptAt: iso(now - 10 + n) })));
      const due = async (limit: number) => {
        const { messages, more } = await outbox.due({ now: iso(now), limit });
        return { ids: idsOf(messages), more };
      };
      expect(await due(2)).toEqual({ ids: ['m-0', 'm-1'], more: true });
      expect(await due(3)).toEqual({ ids: ['m-0', 'm-1', 'm-2'], more: true });
      expect(await due(4)).toEqual({ ids: ['m-0', 'm-1', 'm-2'], more: false });
    });

    test.each([1, 2, 3, 100])('what cannot be read hides no other, and is reported (%i)', async (limit) => {
      const { outbox, put, unreadable, now } = await outboxWorld(subject);
      await put(
        { id: 'broken-1', attempts: 0.5, nextAttemptAt: iso(now - 9) },
        { id: 'newer', version: formatVersion + 1, nextAttemptAt: iso(now - 8) },
        { id: 'broken-2', attempts: 0.5, nextAttemptAt: iso(now - 7) },
        { id: 'good', version: formatVersion, nextAttemptAt: iso(now - 6) },
      );
      const { messages } = await outbox.due({ now: iso(now), limit });
      expect(idsOf(messages)).toEqual(['good']);
      expect(unreadable.map(({ type, id }) => `${type} ${id}`)).toEqual([
        'outboxMessage broken-1',
        'outboxMessage broken-2',
      ]);
    });

    test('a store full of what cannot be read has nothing due', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      await put({ id: 'a', attempts: 0.5 }, { id: 'b', attempts: 0.5 }, { id: 'c', attempts: 0.5 });
      expect(await outbox.due({ now: iso(now), limit: 2 })).toEqual({ messages: [], more: false });
    });
  });
}
