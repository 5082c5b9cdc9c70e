import { describe, expect, test } from 'vitest';
import type { Fault, Operation } from '../../../test/support/faultyLockStore.ts';
import { virtualLocks } from '../../../test/support/virtualLocks.ts';
import { RequestTimedOut } from '../src/clock.ts';
import { nextFence } from '../src/fencingToken.ts';
import { createLocks, type LockStore, type LockView } from '../src/index.ts';
import { LockStoreFailed } from '../src/lease.ts';

const owner = { instance: 'i-1', job: 'test' };
const other = { instance: 'i-2', job: 'test' };
const key = 'jobs/test';

/** The first request of this operation meets the fault; all others pass. */
function once(operation: Operation, fault: Fault): (seen: Operation) => Fault {
  let left = 1;
  return (seen) => (seen === operation && left-- > 0 ? fault : { kind: 'none' });
}

describe('tryAcquire', () => {
  test('a fenced cycle is four requests: look, acquire, raise, release', async () => {
    const { locks, calls } = virtualLocks();
    await (await locks.tryAcquire(key, owner))?.release();
    calls.length = 0;
    await (await locks.tryAcquire(key, owner))?.release();
    expect(calls).toEqual(['look', 'acquire', 'raise', 'release']);
  });

  test('a cycle without a fence is two: acquire, release', async () => {
    const { locks, calls } = virtualLocks();
    await (await locks.tryAcquire(key, owner, { fenced: false }))?.release();
    calls.length = 0;
    const lease = await locks.tryAcquire(key, owner, { fenced: false });
    await lease?.release();
    expect(lease?.fence).toBe(0);
    expect(calls).toEqual(['acquire', 'release']);
  });

  test.each([{ fenced: false }, { fenced: true }])(
    'a lock that is deleted right before it is acquired is created again: %o',
    async (options) => {
      const { locks, memory, network, calls } = virtualLocks();
      await memory.create(key, new AbortController().signal);
      let left = 1;
      network.fault = (operation) => {
        if (operation === 'acquire' && left-- > 0) memory.delete(key);
        return { kind: 'none' };
      };
      const lease = await locks.tryAcquire(key, owner, options);
      lease?.assertHeld();
      expect(memory.holder(key)).toBeDefined();
      expect(calls.filter((call) => call === 'acquire')).toHaveLength(2);
      await lease?.release();
    },
  );

  test('a held lock costs one look and is not an error', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const lease = await first.locks.tryAcquire(key, owner);
    expect(await second.locks.tryAcquire(key, other)).toBeNull();
    expect(second.calls).toEqual(['look']);
    await lease?.release();
  });

  test('the first lease of a lock creates it', async () => {
    const { locks, calls } = virtualLocks();
    const lease = await locks.tryAcquire(key, owner);
    expect(calls).toEqual(['look', 'create', 'acquire', 'raise']);
    await lease?.release();
  });

  test('each fence is greater than the last and is written with owner and time', async () => {
    const { locks, memory, clock } = virtualLocks();
    const fences: number[] = [];
    for (let i = 0; i < 3; i++) {
      await using lease = await locks.tryAcquire(key, { ...owner, runId: `run-${i}` });
      fences.push(lease?.fence ?? Number.NaN);
    }
    const [first = Number.NaN] = fences;
    expect(fences).toEqual([first, first + 1, first + 2]);
    const view = await memory.look(key, new AbortController().signal);
    expect(view?.record).toEqual({
      fence: first + 2,
      owner: { ...owner, runId: 'run-2' },
      since: clock.now(),
      leaseMs: 30_000,
    });
  });

  test('fences keep rising after their lock is deleted', async () => {
    const { locks, memory, clock } = virtualLocks();
    const before = await locks.tryAcquire(key, owner);
    memory.delete(key);
    await clock.advance(20_000);
    const after = await locks.tryAcquire(key, owner);
    expect(after?.fence).toBeGreaterThan(before?.fence ?? Number.POSITIVE_INFINITY);
    await Promise.all([before?.release(), after?.release()]);
  });

  test('trust counts from when the acquire was sent: a slow answer shortens it', async () => {
    const { locks, clock, network } = virtualLocks();
    const sentAt = clock.monotonic();
    network.fault = once('acquire', { kind: 'slowSuccess', ms: 4000 });
    const acquiring = locks.tryAcquire(key, owner);
    await clock.advance(4000);
    const lease = await acquiring;
    network.fault = () => ({ kind: 'resetBefore' });
    await clock.advance(sentAt + 27_000 - clock.monotonic());
    expect(lease?.signal.aborted).toBe(true);
  });

  test.each<Operation>(['look', 'create', 'acquire', 'raise'])(
    'a %s whose answer is lost is retried, and the lease is held once',
    async (operation) => {
      const { locks, clock, network, memory } = virtualLocks();
      network.fault = once(operation, { kind: 'resetAfter' });
      const acquiring = locks.tryAcquire(key, owner);
      await clock.advance(1000);
      const lease = await acquiring;
      lease?.assertHeld();
      const view = await memory.look(key, new AbortController().signal);
      expect(view?.record?.fence).toBe(lease?.fence);
      await lease?.release();
      expect(memory.holder(key)).toBeUndefined();
    },
  );

  test('a store that never answers is an error that names the timeout', async () => {
    const { locks, clock, network } = virtualLocks();
    network.fault = () => ({ kind: 'blackHole' });
    const acquiring = locks.tryAcquire(key, owner).catch((error: unknown) => error);
    await clock.advance(20_000);
    expect(await acquiring).toEqual(new LockStoreFailed(`Cannot lock "${key}"`, new RequestTimedOut(5000)));
  });

  test('a lease whose fence cannot be written is released', async () => {
    const { locks, clock, network, memory } = virtualLocks();
    network.fault = (operation) =>
      operation === 'raise' ? { kind: 'status', status: 500 } : { kind: 'none' };
    await expect(locks.tryAcquire(key, owner)).rejects.toThrow(LockStoreFailed);
    expect(memory.holder(key)).toBeUndefined();
    expect(clock.sleepers()).toBe(0);
  });

  test('a record written between look and acquire does not stop the raise', async () => {
    const { locks, memory, network, calls, clock } = virtualLocks();
    const signal = new AbortController().signal;
    await memory.create(key, signal);
    const record = { fence: clock.now() + 100_000, owner: other, since: 0, leaseMs: 30_000 };
    network.fault = once('acquire', { kind: 'delay', ms: 10 });
    const acquiring = locks.tryAcquire(key, owner);
    await clock.advance(5);
    await memory.acquire(key, 'between', 30_000, signal);
    await memory.raise(key, 'between', record, '1', signal);
    await memory.release(key, 'between', signal);
    await clock.advance(5);
    const lease = await acquiring;
    expect(lease?.fence).toBe(record.fence + 1);
    expect(calls.filter((call) => call === 'look')).toHaveLength(2);
    await lease?.release();
  });
});

describe('the next fence', () => {
  test('is the time in milliseconds, or one more than the last', () => {
    expect(nextFence(undefined, Date.UTC(2026, 0, 1))).toBe(1_767_225_600_000);
    expect(nextFence(6, 1_000.5)).toBe(1_000);
    expect(nextFence(1_000, 1_000)).toBe(1_001);
    expect(nextFence(undefined, 0)).toBe(1);
  });

  test('goes by the clock of the store, not that of the holder', async () => {
    const { memory, clock } = virtualLocks();
    let now = 2_000_000_000_000;
    const at = (view: LockView): LockView => ({ ...view, now });
    const store: LockStore = {
      ...memory,
      look: async (key, signal) => {
        const seen = await memory.look(key, signal);
        return seen && at(seen);
      },
      create: async (key, signal) => at(await memory.create(key, signal)),
    };
    const fences: number[] = [];
    const cycle = async () => {
      const lease = await createLocks(store, { clock }).acquire(key, owner, { waitMs: 0 });
      fences.push(lease.fence);
      await lease.release();
    };
    await cycle();
    now += 5;
    await cycle();
    // The store has lost its data.
    memory.delete(key);
    now += 1;
    await cycle();
    expect(fences).toEqual([2_000_000_000_000, 2_000_000_000_005, 2_000_000_000_006]);
  });
});

describe('a floor under new fences', () => {
  /** The highest fence that the protected data has seen. */
  const floorOf = (seen: number | undefined) => ({ fenceFloor: async () => seen });

  test('a lock store that lost its data, or that is new, goes on above what was seen', async () => {
    const { locks } = virtualLocks(floorOf(5_000_000_000));
    const lease = await locks.tryAcquire(key, owner);
    expect(lease?.fence).toBe(5_000_000_001);
  });

  test('a lock store that is behind, as after a failover, catches up at once', async () => {
    const first = virtualLocks();
    await (await first.locks.tryAcquire(key, owner))?.release();
    const { locks } = virtualLocks(floorOf(5_000_000_000), first);
    expect((await locks.tryAcquire(key, owner))?.fence).toBe(5_000_000_001);
  });

  test('one with a higher fence goes on as it is, and so does one whose fences nobody has seen', async () => {
    const first = virtualLocks();
    const before = await first.locks.tryAcquire(key, owner);
    await before?.release();
    const next = virtualLocks(floorOf(3), first);
    const lease = await next.locks.tryAcquire(key, owner);
    expect(lease?.fence).toBe((before?.fence ?? 0) + 1);
    await lease?.release();
    const unseen = virtualLocks(floorOf(undefined), first);
    expect((await unseen.locks.tryAcquire(key, owner))?.fence).toBe((before?.fence ?? 0) + 2);
  });

  test('a floor that cannot be read takes no lock', async () => {
    const failing = { fenceFloor: () => Promise.reject(new Error('the invoices are away')) };
    const { locks, clock, memory } = virtualLocks(failing);
    const taking = expect(locks.tryAcquire(key, owner)).rejects.toThrow('the invoices are away');
    await clock.advance(5_000);
    await taking;
    expect(memory.holder(key)).toBeUndefined();
  });

  test('is not asked for a lease without a fence', async () => {
    const { locks } = virtualLocks({ fenceFloor: () => Promise.reject(new Error('asked')) });
    expect((await locks.tryAcquire(key, owner, { fenced: false }))?.fence).toBe(0);
  });
});
