import { describe, expect, test } from 'vitest';
import type { OutboxStore } from '../../outbox/outboxStore.ts';
import { nothingKnown } from '../documents/subject.ts';
import { idsOf, iso, type OutboxSubject, outboxWorld } from './world.ts';

/** Parked messages go out again; the counts include them; and a store that is away says so. */
export function redriveContract(subject: OutboxSubject): void {
  const { canFail, known = nothingKnown } = subject;

  describe('discard', () => {
    const why = { at: iso(0), by: 'ada', reason: 'a test order' };

    test('a parked message counts as dispatched, expires, and says who gave it up', async () => {
      const { outbox, put } = await outboxWorld(subject);
      await put({ shard: '01', status: 'parked', attempts: 10, lastError: 'too large' });
      expect(await outbox.discard('m-1', why)).toMatchObject({
        kind: 'discarded',
        message: { status: 'dispatched', discarded: why, lastError: 'too large' },
      });
      const refused = { kind: 'refused', status: 'dispatched', discarded: why };
      expect(await outbox.discard('m-1', why)).toEqual(refused);
      expect(await outbox.redrive('m-1', iso(0))).toEqual(refused);
      expect(await outbox.count({ status: 'parked' })).toBe(0);
    });

    test.each(['pending', 'dispatched'] as const)('a message that is %s is refused', async (status) => {
      const { outbox, putOne, read } = await outboxWorld(subject);
      const message = await putOne({ status });
      expect(await outbox.discard('m-1', why)).toEqual({ kind: 'refused', status });
      expect(await outbox.discard('m-2', why)).toEqual({ kind: 'notFound' });
      expect(await read(message)).toEqual(message);
    });
  });

  describe('redrive', () => {
    test('a parked message is pending again, as if it had been written then', async () => {
      const { outbox, putOne, read, now } = await outboxWorld(subject);
      const at = iso(now + 60_000);
      const message = await putOne({ shard: '01', status: 'parked', attempts: 10, lastError: 'down' });
      const changed = { status: 'pending', attempts: 0, nextAttemptAt: at, notBefore: at };
      const { body: _, ...entry } = message;
      expect(await outbox.redrive('m-1', at)).toEqual({
        kind: 'redriven',
        message: { ...entry, ...changed },
      });
      expect(await read(message)).toEqual({ ...message, ...changed });
      expect(idsOf((await outbox.due({ now: at, limit: 10 })).messages)).toEqual(['m-1']);
      expect(await outbox.oldestPending()).toBe(at);
    });

    test.each(['pending', 'dispatched'] as const)('a message that is %s is refused', async (status) => {
      const { outbox, putOne, read } = await outboxWorld(subject);
      const message = await putOne({ status });
      expect(await outbox.redrive('m-1', iso(0))).toEqual({ kind: 'refused', status });
      expect(await read(message)).toEqual(message);
    });

    test.each(['missing', 'inv-1', '', 'a/b', 'x'.repeat(2_000)])('there is no message "%s"', async (id) => {
      const { outbox } = await outboxWorld(subject);
      expect(await outbox.redrive(id, iso(0))).toEqual({ kind: 'notFound' });
    });

    test('a message names the bulk run that has redriven it', async () => {
      const { outbox, put } = await outboxWorld(subject);
      await put({ status: 'parked' });
      expect(await outbox.redrive('m-1', iso(1), 'run-1')).toMatchObject({
        message: { redrivenBy: 'run-1' },
      });
      expect(await outbox.redrive('m-1', iso(1), 'run-2')).toEqual({
        kind: 'refused',
        status: 'pending',
        redrivenBy: 'run-1',
      });
    });

    test(
      'of two at once one redrives it',
      known('races', async () => {
        const { outbox, put } = await outboxWorld(subject);
        await put({ status: 'parked' });
        const both = await Promise.all([outbox.redrive('m-1', iso(1)), outbox.redrive('m-1', iso(1))]);
        expect(both.map(({ kind }) => kind).toSorted()).toEqual(['redriven', 'refused']);
        expect(both).toContainEqual({ kind: 'refused', status: 'pending' });
      }),
    );

    test.runIf(canFail)('without an answer it rejects, and may have been done', async () => {
      const { outbox, put, lose } = await outboxWorld(subject);
      await put({ status: 'parked' });
      const away = { name: 'StoreAway', reason: 'noAnswer' };
      await lose('before');
      await expect(outbox.redrive('m-1', iso(0))).rejects.toMatchObject(away);
      expect(await outbox.count({ status: 'parked' })).toBe(1);
      await lose('after');
      await expect(outbox.redrive('m-1', iso(0))).rejects.toMatchObject(away);
      expect(await outbox.redrive('m-1', iso(0))).toEqual({ kind: 'refused', status: 'pending' });
    });
  });

  describe('counts', () => {
    test('of an empty outbox', async () => {
      const { outbox } = await outboxWorld(subject);
      expect(await outbox.oldestPending()).toBeUndefined();
      expect(await outbox.count({})).toBe(0);
      expect(await outbox.count({ status: 'parked' })).toBe(0);
    });

    test('of all partitions', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      const at = (seconds: number) => iso(now + seconds * 1_000);
      await put(
        { id: 'redriven', createdAt: at(-90), notBefore: at(-5) },
        { id: 'oldest', shard: '01', createdAt: at(-60) },
        { id: 'failed', createdAt: at(-50), attempts: 3, nextAttemptAt: at(60) },
        { id: 'sent', shard: '02', status: 'dispatched', createdAt: at(-80) },
        { id: 'parked-1', shard: '01', status: 'parked', createdAt: at(-70) },
        { id: 'parked-2', shard: '02', status: 'parked' },
      );
      expect(await outbox.oldestPending()).toBe(at(-60));
      expect(await outbox.count({ status: 'pending' })).toBe(3);
      expect(await outbox.count({ status: 'dispatched' })).toBe(1);
      expect(await outbox.count({ status: 'parked' })).toBe(2);
    });
  });

  describe.runIf(canFail)('a store that is away', () => {
    test.each<[string, (outbox: OutboxStore) => Promise<unknown>]>([
      ['due', (outbox) => outbox.due({ now: iso(0), limit: 1 })],
      ['list', (outbox) => outbox.list({ pageSize: 1 })],
      ['redrive', (outbox) => outbox.redrive('m-1', iso(0))],
      ['oldestPending', (outbox) => outbox.oldestPending()],
      ['count', (outbox) => outbox.count({})],
    ])('%s rejects with StoreAway', async (_, ask) => {
      const { outbox, denied, failReads } = await outboxWorld(subject);
      await failReads();
      await expect(ask(outbox)).rejects.toMatchObject({ name: 'StoreAway', reason: 'noAnswer' });
      await expect(ask(denied.outbox({}))).rejects.toMatchObject({
        name: 'StoreAway',
        reason: 'accessDenied',
      });
    });
  });
}
