import { describe, expect, test } from 'vitest';
import type { LineWait, LockRequest, LockStore } from '../index.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Time for which the tests keep a place in line (ms): longer than a busy machine needs for a few requests. */
const keptMs = 2_000;
/** Time in which a waiter is called (ms). */
const calledMs = 1_000;

/** Tests how a lock is taken in one request, and who gets it of those who wait. */
export function takeContract({ subject, store, record, leaseMs, freshKey }: ContractWorld): void {
  const { take, wait } = store;
  const { owner, since } = record;
  const fenced = (floor = 0): LockRequest => ({ leaseMs, record: { owner, since, floor } });

  describe.runIf(take !== undefined)('take', () => {
    const taken = (key: string, id: string, request = fenced()) => must(take)(key, id, request, never);

    test('creates a missing lock, holds it and writes its record, with a fence that is no less than the time', async () => {
      const key = freshKey();
      const before = (await store.look(key, never))?.now ?? Date.now() - 60_000;
      const fence = Number(await taken(key, one));
      expect(fence).toBeGreaterThanOrEqual(before);
      expect(await store.look(key, never)).toMatchObject({
        held: true,
        record: { owner, since, leaseMs, fence },
      });
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
      expect(await store.release(key, one, never)).toBe('released');
    });

    test('of a lock that was created, and of one whose lease has ended, counts on from its record', async () => {
      const key = freshKey();
      await store.create(key, never);
      const first = Number(await taken(key, one));
      await subject.lose(key, one);
      const next = Number(await taken(key, two, fenced(first + 1_000_000)));
      expect(next).toBeGreaterThan(first + 1_000_000);
      await store.release(key, two, never);
      expect(Number(await taken(key, one))).toBeGreaterThan(next);
    });

    test('is held for another lease, and leaves its record alone', async () => {
      const key = freshKey();
      const fence = await taken(key, one);
      expect(await taken(key, two)).toBe('held');
      expect((await store.look(key, never))?.record?.fence).toBe(fence);
    });

    test('repeated by the holder keeps the lock and its fence does not fall', async () => {
      const key = freshKey();
      const fence = Number(await taken(key, one));
      expect(Number(await taken(key, one))).toBeGreaterThanOrEqual(fence);
      expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
    });

    test('without a record holds the lock and leaves the last record', async () => {
      const key = freshKey();
      expect(await taken(key, one, { leaseMs })).toBe(0);
      expect(await taken(key, two)).toBe('held');
      expect(await store.look(key, never)).toMatchObject({ held: true, record: undefined });
      expect(await store.release(key, one, never)).toBe('released');
      const fence = await taken(key, two);
      await store.release(key, two, never);
      expect(await taken(key, one, { leaseMs })).toBe(0);
      expect((await store.look(key, never))?.record?.fence).toBe(fence);
    });

    test('of many at once, exactly one gets it', async () => {
      const key = freshKey();
      const ids = Array.from({ length: 20 }, (_, i) => one.slice(0, -2) + String(10 + i));
      const outcomes = await Promise.all(ids.map((id) => taken(key, id)));
      expect(outcomes.filter((outcome) => outcome !== 'held')).toHaveLength(1);
    });

    test('changes the version, so that nobody takes it away from a holder whom they have not seen', async () => {
      const key = freshKey();
      await taken(key, one);
      const before = await store.look(key, never);
      await store.release(key, one, never);
      await taken(key, two);
      expect((await store.look(key, never))?.version).not.toBe(before?.version);
    });

    test('refuses an owner that is too long, and a key that is none', async () => {
      const long = { owner: { instance: 'x'.repeat(257), job: 'j' }, since, floor: 0 };
      await expect(taken(freshKey(), one, { leaseMs, record: long })).rejects.toThrow(RangeError);
      await expect(taken('', one)).rejects.toThrow(RangeError);
    });
  });

  test.runIf(wait !== undefined && subject.realTime)(
    'one who waits is woken when the lock is free',
    async () => {
      const key = freshKey();
      await store.create(key, never);
      await store.acquire(key, one, leaseMs, never);
      await using waiter = await must(wait)(key, never);
      const place = { ticket: waiter.ticket, keptMs };
      if (take !== undefined) expect(await take(key, two, { ...fenced(), place }, never)).toBe('held');
      const early = AbortSignal.timeout(100);
      await waiter.called(early);
      expect(early.aborted).toBe(true);
      const late = AbortSignal.timeout(calledMs);
      const woken = waiter.called(late);
      await store.release(key, one, never);
      await woken;
      expect(late.aborted).toBe(false);
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
    },
  );

  describe.runIf(take !== undefined && wait !== undefined && subject.realTime)('a line', () => {
    const waitFor = (key: string) => must(wait)(key, never);
    const takes = (key: string, id: string, waiter?: LineWait) =>
      must(take)(key, id, { ...fenced(), place: waiter && { ticket: waiter.ticket, keptMs } }, never);
    const isCalled = async (waiter: LineWait, ms = calledMs) => {
      const limit = AbortSignal.timeout(ms);
      await waiter.called(limit);
      return !limit.aborted;
    };
    const id = (n: number) => one.slice(0, -2) + String(10 + n);

    test('get a lock in the order of asking, each called when it is its turn; nobody passes them', async () => {
      const key = freshKey();
      await takes(key, id(0));
      const waiting = [await waitFor(key), await waitFor(key), await waitFor(key)];
      for (const [n, waiter] of waiting.entries()) expect(await takes(key, id(n + 1), waiter)).toBe('held');
      for (const [n, waiter] of waiting.entries()) {
        await store.release(key, id(n), never);
        expect(await isCalled(waiter)).toBe(true);
        expect(await takes(key, id(9))).toBe('held');
        for (const later of waiting.slice(n + 1)) expect(await takes(key, id(8), later)).toBe('held');
        expect(await takes(key, id(n + 1), waiter)).toBeGreaterThan(0);
        await waiter[Symbol.asyncDispose]();
      }
      await store.release(key, id(3), never);
      expect(await takes(key, id(9))).toBeGreaterThan(0);
    });

    test('one that leaves is passed, and the next is called', async () => {
      const key = freshKey();
      await takes(key, id(0));
      const [first, second] = [await waitFor(key), await waitFor(key)];
      await takes(key, id(1), first);
      await takes(key, id(2), second);
      await store.release(key, id(0), never);
      await first[Symbol.asyncDispose]();
      expect(await isCalled(second)).toBe(true);
      expect(await takes(key, id(2), second)).toBeGreaterThan(0);
      await second[Symbol.asyncDispose]();
    });

    test('one that has not asked for that time has lost its place', async () => {
      const key = freshKey();
      await takes(key, id(0));
      const crashed = await waitFor(key);
      await takes(key, id(1), crashed);
      await store.release(key, id(0), never);
      expect(await takes(key, id(9))).toBe('held');
      await subject.pass(keptMs + 200 + store.traits.expiryLagMs);
      expect(await takes(key, id(9))).toBeGreaterThan(0);
    });

    test('a waiter of another client is called too', async () => {
      const key = freshKey();
      await takes(key, id(0));
      await using other: LockStore = await must(subject.another)();
      await using waiter = await must(other.wait)(key, never);
      const place = { ticket: waiter.ticket, keptMs };
      const asks = () => must(other.take)(key, id(1), { ...fenced(), place }, never);
      expect(await asks()).toBe('held');
      await store.release(key, id(0), never);
      expect(await isCalled(waiter)).toBe(true);
      expect(await asks()).toBeGreaterThan(0);
    });
  });
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the store does not have what this test is about');
  return value;
}
