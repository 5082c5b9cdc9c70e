import { describe, expect, test } from 'vitest';
import { continuationAt } from '../../documents/pages.ts';
import { formatVersion } from '../../documents/storedDocuments.ts';
import type { OutboxStatus } from '../../outbox/outboxMessage.ts';
import type { OutboxFilter, OutboxStore } from '../../outbox/outboxStore.ts';
import { idsOf, iso, type OutboxSubject, outboxWorld } from './world.ts';

const week = 7 * 24 * 3600;

/** Pages for people. */
export function listContract(subject: OutboxSubject): void {
  describe('list', () => {
    async function pages(
      outbox: OutboxStore,
      query: { status?: OutboxStatus; pageSize: number },
    ): Promise<string[][]> {
      const found: string[][] = [];
      let continuation: string | undefined;
      do {
        const next = continuation === undefined ? {} : { continuation };
        const page = await outbox.list({ ...query, ...next });
        found.push(idsOf(page.items));
        ({ continuation } = page);
      } while (continuation !== undefined);
      return found;
    }

    test('messages are narrowed by destination, error and age, and counted', async () => {
      const { outbox, put, now } = await outboxWorld(subject);
      const parked = { status: 'parked' as const, attempts: 10 };
      await put({ ...parked, id: 'a', lastError: 'Too large', destination: 'one', createdAt: iso(now) });
      await put({ ...parked, id: 'b', lastError: 'away', destination: 'two', createdAt: iso(now + 1) });
      await put({ ...parked, id: 'c', lastError: 'too LARGE', destination: 'two', createdAt: iso(now + 2) });
      await put({ id: 'd', status: 'pending', destination: 'two', createdAt: iso(now + 3) });
      const cases: [OutboxFilter, string[]][] = [
        [{ status: 'parked' }, ['a', 'b', 'c']],
        [{ status: 'parked', destination: 'two' }, ['b', 'c']],
        [{ status: 'parked', error: 'too large' }, ['a', 'c']],
        [{ status: 'parked', before: iso(now + 2) }, ['a', 'b']],
        [{ status: 'parked', after: iso(now + 1), error: 'LARGE' }, ['c']],
        [{ destination: 'two', after: iso(now + 2) }, ['d', 'c']],
        [{ destination: 'three' }, []],
      ];
      for (const [filter, expected] of cases) {
        expect((await outbox.list({ ...filter, pageSize: 10 })).items.map(({ id }) => id)).toEqual(expected);
        expect(await outbox.count(filter)).toBe(expected.length);
      }
    });

    test.each<[OutboxStatus | undefined, string[]]>([
      ['pending', ['pending-1', 'pending-2', 'pending-3']],
      ['parked', ['parked-1', 'parked-2', 'parked-3']],
      ['dispatched', ['dispatched-3', 'dispatched-2', 'dispatched-1']],
      [
        undefined,
        [
          'dispatched-3',
          'parked-3',
          'pending-3',
          'dispatched-2',
          'parked-2',
          'pending-2',
          'dispatched-1',
          'parked-1',
          'pending-1',
        ],
      ],
    ])('%s messages of all partitions, in their order', async (status, expected) => {
      const { outbox, put, now } = await outboxWorld(subject);
      for (const at of [2, 1, 3]) {
        for (const [n, each] of (['pending', 'parked', 'dispatched'] as const).entries()) {
          const createdAt = iso(now + at * 1_000 + n);
          await put({ id: `${each}-${at}`, shard: `0${(at + n) % 3}`, status: each, createdAt });
        }
      }
      const query = status === undefined ? {} : { status };
      expect(await pages(outbox, { ...query, pageSize: 100 })).toEqual([expected]);
      const inTwos = await pages(outbox, { ...query, pageSize: 2 });
      expect(inTwos.flat()).toEqual(expected);
      expect(inTwos.map((page) => page.length)).toEqual(
        Array.from({ length: Math.ceil(expected.length / 2) }, (_, n) =>
          Math.min(2, expected.length - 2 * n),
        ),
      );
    });

    test.each([1, 2, 3, 4, 5])('messages of one millisecond come once each (%i a page)', async (pageSize) => {
      const { outbox, put, now } = await outboxWorld(subject);
      const ids = Array.from({ length: 9 }, (_, n) => `m-${n}`);
      await put(
        ...ids.map((id, n) => ({
          id,
          shard: `0${n % 2}`,
          createdAt: iso(now + (n < 2 ? 0 : n < 7 ? 1 : 2)),
        })),
      );
      for (const status of [undefined, 'pending'] as const) {
        const found = await pages(outbox, { ...(status === undefined ? {} : { status }), pageSize });
        expect(found.flat().toSorted()).toEqual(ids);
        expect(found.every((page) => page.length <= pageSize)).toBe(true);
      }
    });

    test('messages come without what they carry', async () => {
      const { outbox, putOne, now } = await outboxWorld(subject);
      const message = await putOne({ notBefore: iso(now), attempts: 2, lastError: 'down', ttl: week });
      const { body: _, ttl: __, ...entry } = message;
      expect(await outbox.list({ pageSize: 10 })).toEqual({ items: [entry] });
    });

    test('an empty outbox has one empty page', async () => {
      const { outbox } = await outboxWorld(subject);
      expect(await outbox.list({ pageSize: 10 })).toEqual({ items: [] });
      expect(await outbox.list({ pageSize: 10, status: 'parked' })).toEqual({ items: [] });
    });

    test.each([1, 100])('what cannot be read is left out, and the pages go on (%i)', async (pageSize) => {
      const { outbox, put, now } = await outboxWorld(subject);
      await put(
        { id: 'a', createdAt: iso(now + 1) },
        { id: 'newer', version: formatVersion + 1, createdAt: iso(now + 2) },
        { id: 'broken', attempts: 0.5, createdAt: iso(now + 3) },
        { id: 'b', createdAt: iso(now + 4) },
      );
      expect((await pages(outbox, { status: 'pending', pageSize })).flat()).toEqual(['a', 'b']);
      expect((await pages(outbox, { pageSize })).flat()).toEqual(['b', 'a']);
    });

    test.each(['nonsense', '', continuationAt([]), continuationAt(['yesterday', 1]), continuationAt('12')])(
      'refuses a continuation that it did not give: "%s"',
      async (continuation) => {
        const { outbox } = await outboxWorld(subject);
        await expect(outbox.list({ pageSize: 10, continuation })).rejects.toMatchObject({
          name: 'BadContinuation',
        });
      },
    );
  });
}
