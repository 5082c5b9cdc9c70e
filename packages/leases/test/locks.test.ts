import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { virtualLocks } from '../../../test/support/virtualLocks.ts';
import type { ProcessLocks } from '../src/index.ts';
import { LockStoreFailed, LocksClosed, LockTimeout } from '../src/lease.ts';
import { partMetric } from '../src/telemetry.ts';
import { memoryLockStore } from '../src/testing/memoryLockStore.ts';

const owner = { instance: 'i-1', job: 'test' };
const key = 'jobs/test';

describe('acquire', () => {
  test('gets the lock within a second of its release, and reports the wait', async () => {
    const first = virtualLocks();
    const second = virtualLocks({ random: () => 0.999 }, first);
    const held = await first.locks.tryAcquire(key, owner);
    const waiting = second.locks.acquire(key, owner, { waitMs: 60_000 });
    await first.clock.advance(12_000);
    await held?.release();
    await first.clock.advance(1000);
    const lease = await waiting;
    const [waited = Number.NaN] = second.telemetry.values(partMetric.leaseWaitedMs);
    expect(waited).toBeGreaterThanOrEqual(12_000);
    expect(waited).toBeLessThanOrEqual(13_000);
    await lease.release();
  });

  test('gives up when its time runs out', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const held = await first.locks.tryAcquire(key, owner);
    const startedAt = first.clock.monotonic();
    const waiting = second.locks.acquire(key, owner, { waitMs: 5000 }).catch((error: unknown) => {
      expect(first.clock.monotonic() - startedAt).toBe(5000);
      return error;
    });
    await first.clock.advance(10_000);
    expect(await waiting).toEqual(new LockTimeout(key, 5000));
    await held?.release();
  });

  test('a wait of 0 tries once', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const held = await first.locks.tryAcquire(key, owner);
    await expect(second.locks.acquire(key, owner, { waitMs: 0 })).rejects.toThrow(LockTimeout);
    expect(second.calls).toEqual(['look']);
    await held?.release();
  });

  test('outlasts a store outage, or reports its error if the outage goes on', async () => {
    const { locks, clock, network } = virtualLocks();
    network.fault = () => ({ kind: 'status', status: 503 });
    const soon = locks.acquire(key, owner, { waitMs: 2000 }).catch((error: unknown) => error);
    const patient = locks.acquire(key, owner, { waitMs: 60_000 });
    await clock.advance(3000);
    const error = await soon;
    expect(error).toBeInstanceOf(LockTimeout);
    expect((error as LockTimeout).cause).toBeInstanceOf(LockStoreFailed);
    network.fault = () => ({ kind: 'none' });
    await clock.advance(1000);
    await (await patient).release();
  });

  test('tells of each failed try, and gives up at once where none can succeed', async () => {
    const told: unknown[] = [];
    const { locks, clock, network } = virtualLocks({ onError: (error, about) => told.push([error, about]) });
    network.fault = () => ({ kind: 'status', status: 503 });
    const waiting = locks.acquire(key, owner, { waitMs: 60_000 });
    await clock.advance(500);
    expect(told.length).toBeGreaterThan(1);
    expect(told[0]).toEqual([expect.any(LockStoreFailed), key]);
    network.fault = () => ({ kind: 'none' });
    await clock.advance(2_000);
    await (await waiting).release();

    const denied = new Error('wrong password');
    const refusing = { ...memoryLockStore(), look: () => Promise.reject(denied), isPermanent: () => true };
    const { locks: shut } = virtualLocks({}, { clock, memory: refusing });
    for (const asked of [shut.acquire(key, owner, { waitMs: 60_000 }), shut.tryAcquire(key, owner)]) {
      await expect(asked).rejects.toMatchObject({ name: 'LockStoreFailed', permanent: true, cause: denied });
    }
  });

  test('ends when its signal aborts, during a pause or before it starts', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const held = await first.locks.tryAcquire(key, owner);
    const stop = new AbortController();
    const waiting = second.locks.acquire(key, owner, { waitMs: 60_000, signal: stop.signal });
    const ended = expect(waiting).rejects.toThrow('enough');
    await first.clock.advance(1500);
    stop.abort(new Error('enough'));
    await ended;
    await expect(second.locks.acquire(key, owner, { waitMs: 60_000, signal: stop.signal })).rejects.toThrow(
      'enough',
    );
    expect(second.clock.sleepers()).toBe(1);
    await held?.release();
  });

  test('a lock acquired after its caller gave up is released', async () => {
    const { locks, clock, network, memory } = virtualLocks();
    network.fault = (operation) =>
      operation === 'acquire' ? { kind: 'slowSuccess', ms: 2000 } : { kind: 'none' };
    const stop = new AbortController();
    const waiting = locks.acquire(key, owner, { waitMs: 60_000, signal: stop.signal });
    const ended = expect(waiting).rejects.toThrow('enough');
    await clock.advance(1000);
    stop.abort(new Error('enough'));
    await clock.advance(1000);
    await ended;
    expect(memory.holder(key)).toBeUndefined();
  });

  test('fifty waiters all get their turn', async () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const first = virtualLocks({ random });
    const through: number[] = [];
    const waiters = Array.from({ length: 50 }, async (_, i) => {
      const lease = await first.locks.acquire(key, owner, { waitMs: 120_000 });
      await first.clock.sleep(200);
      through.push(i);
      await lease.release();
    });
    await first.clock.advance(120_000);
    await Promise.all(waiters);
    expect(new Set(through).size).toBe(50);
  });
});

test('disposal takes away what is held, and disposes of the store once a lock that stays taken has its length', async () => {
  const clock = virtualClock();
  const memory = memoryLockStore(() => clock.monotonic());
  const done: string[] = [];
  const store: typeof memory = {
    ...memory,
    acquire(wanted, id, leaseMs, signal) {
      done.push(`${wanted} for ${leaseMs}`);
      return memory.acquire(wanted, id, leaseMs, signal);
    },
    [Symbol.asyncDispose]: async () => void done.push('disposed'),
  };
  const { locks, network } = virtualLocks({}, { clock, memory: store });
  const held = await locks.tryAcquire(key, owner);
  network.fault = (operation) => (operation === 'acquire' ? { kind: 'delay', ms: 1_000 } : { kind: 'none' });
  const disposed = locks[Symbol.asyncDispose]();
  await clock.advance(2_000);
  await disposed;
  expect(held?.lost?.reason).toBe('expired');
  expect(done).toEqual([`${key} for 30000`, 'disposed']);
  expect(memory.holder(key)).toBeUndefined();
});

describe('drain', () => {
  test('takes no new leases and waits for the held ones', async () => {
    const { locks, clock, memory } = virtualLocks();
    const lease = await locks.tryAcquire(key, owner);
    let drained = false;
    const draining = locks.drain(10_000).then(() => (drained = true));
    expect(locks.stopping.aborted).toBe(true);
    expect(await locks.tryAcquire('another', owner)).toBeNull();
    await expect(locks.acquire('another', owner, { waitMs: 1000 })).rejects.toThrow(LocksClosed);
    await clock.advance(4000);
    expect(drained).toBe(false);
    lease?.assertHeld();
    await lease?.release();
    await draining;
    expect(memory.holder(key)).toBeUndefined();
    expect(lease?.lost).toBeUndefined();
  });

  test('takes away what is still held when the grace period is over', async () => {
    const { locks, clock, memory } = virtualLocks();
    const lease = await locks.tryAcquire(key, owner);
    const draining = locks.drain(10_000);
    await clock.advance(10_000);
    await draining;
    expect(lease?.lost?.detail).toBe('the process is shutting down');
    expect(memory.holder(key)).toBeUndefined();
  });

  test('ends a wait', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const held = await first.locks.tryAcquire(key, owner);
    const waiting = second.locks.acquire(key, owner, { waitMs: 60_000 });
    const ended = expect(waiting).rejects.toThrow(LocksClosed);
    await first.clock.advance(3000);
    await Promise.all([second.locks.drain(10_000), ended]);
    await held?.release();
  });

  test('waits for an acquire in flight, whose lease is released', async () => {
    const { locks, clock, memory, network } = virtualLocks();
    network.fault = (operation) =>
      operation === 'raise' ? { kind: 'slowSuccess', ms: 2000 } : { kind: 'none' };
    const acquiring = locks.tryAcquire(key, owner);
    await clock.advance(1000);
    const draining = locks.drain(10_000);
    await clock.advance(1000);
    await draining;
    expect(await acquiring).toBeNull();
    expect(memory.holder(key)).toBeUndefined();
  });

  test('with nothing held ends at once, as does a second one', async () => {
    const { locks } = virtualLocks();
    await locks.drain(10_000);
    await locks.drain(10_000);
  });
});

describe('telemetry', () => {
  test('acquired, skipped and the fence, by job', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const lease = await first.locks.tryAcquire(key, owner);
    await second.locks.tryAcquire(key, owner);
    const job = { job: 'test' };
    expect(first.telemetry.reports).toEqual([
      { name: partMetric.leaseAcquired, value: 1, attributes: job },
      { name: partMetric.leaseFence, value: lease?.fence, attributes: job },
    ]);
    expect(second.telemetry.reports).toEqual([{ name: partMetric.leaseSkipped, value: 1, attributes: job }]);
    await lease?.release();
  });
});

test.each<[string, (locks: ProcessLocks) => Promise<unknown>, typeof TypeError | typeof RangeError]>([
  ['an empty key', (locks) => locks.tryAcquire('', owner), RangeError],
  ['a key that is no text', (locks) => locks.tryAcquire(JSON.parse('7'), owner), TypeError],
  ['no owner', (locks) => locks.tryAcquire(key, JSON.parse('{}'), { fenced: false }), TypeError],
  ['a long owner', (locks) => locks.tryAcquire(key, { instance: 'i'.repeat(257), job: 'j' }), RangeError],
  ['no time to wait', (locks) => locks.acquire(key, owner, JSON.parse('{}')), RangeError],
  [
    'a time that is no number',
    (locks) => locks.acquire(key, owner, JSON.parse('{"waitMs":"9"}')),
    RangeError,
  ],
])('%s is refused before anything is asked of the store', async (_, call, kind) => {
  const { locks, calls } = virtualLocks();
  await expect(call(locks)).rejects.toThrow(kind);
  expect(calls).toEqual([]);
});

test.each([14, 15.5, 61, 0, Number.NaN])(
  'a lease of %d s is refused: the store grants no such lease',
  (leaseSeconds) => {
    expect(() => virtualLocks({ leaseSeconds })).toThrow(RangeError);
  },
);
