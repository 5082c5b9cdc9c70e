import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../test/support/faultyLockStore.ts';
import { virtualLocks } from '../../../test/support/virtualLocks.ts';
import {
  createSingleton,
  type Lease,
  LeaseLost,
  LockHeld,
  LockTimeout,
  lead,
  noLease,
  shardKeys,
  sharedLock,
  type WhenHeld,
  withLease,
  workItemLockKey,
} from '../src/index.ts';

const owner = { instance: 'i-1', job: 'test' };
const key = 'jobs/test';

describe('withLease', () => {
  test('runs the work under the lease and releases it', async () => {
    const { locks, memory } = virtualLocks();
    const result = await withLease(locks, key, owner, async (lease) => {
      lease.assertHeld();
      return lease.fence;
    });
    expect(result).toMatchObject({ kind: 'done' });
    expect(memory.holder(key)).toBeUndefined();
  });

  test('releases it when the work fails', async () => {
    const { locks, memory } = virtualLocks();
    const failing = withLease(locks, key, owner, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(memory.holder(key)).toBeUndefined();
  });

  test('does not run while the lock is held elsewhere; given a wait, gives up after it', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    await using _held = await first.locks.tryAcquire(key, owner);
    const work = () => Promise.reject(new Error('must not run'));
    expect(await withLease(second.locks, key, owner, work)).toEqual({ kind: 'heldElsewhere' });
    const waiting = expect(withLease(second.locks, key, owner, work, { waitMs: 100 })).rejects.toThrow(
      LockTimeout,
    );
    await first.clock.advance(200);
    await waiting;
  });
});

describe('singleton', () => {
  const context = { functionName: 'nightly', invocationId: 'inv-1' };

  test('runs the handler with a lease owned by function and invocation', async () => {
    const { locks, memory } = virtualLocks();
    const singleton = createSingleton(locks, 'web-1');
    const handler = singleton(key, async (input: number, _context, lease) => [input, lease.owner] as const, {
      whenHeld: 'skip',
    });
    expect(await handler(42, context)).toEqual([42, { instance: 'web-1', job: 'nightly', runId: 'inv-1' }]);
    expect(memory.holder(key)).toBeUndefined();
  });

  test('a key may be derived from the input', async () => {
    const { locks, memory } = virtualLocks();
    const handler = createSingleton(locks, 'web-1')(
      (id: string) => `items/${id}`,
      async (id) => memory.holder(`items/${id}`),
      { whenHeld: 'throw' },
    );
    expect(await handler('a', context)).toBeDefined();
  });

  async function runHeld(policy: WhenHeld): Promise<unknown> {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    await using _held = await first.locks.tryAcquire(key, owner);
    const handler = createSingleton(second.locks, 'web-2')(key, async () => 'ran', policy);
    const result = handler(undefined, context).catch((error: unknown) => error);
    await first.clock.advance(40_000);
    return await result;
  }

  test('held: skips, waits and gives up, or throws', async () => {
    expect(await runHeld({ whenHeld: 'skip' })).toBeUndefined();
    expect(await runHeld({ whenHeld: 'wait' })).toEqual(new LockTimeout(key, 30_000));
    expect(await runHeld({ whenHeld: 'wait', waitMs: 500 })).toEqual(new LockTimeout(key, 500));
    expect(await runHeld({ whenHeld: 'throw' })).toEqual(new LockHeld(key));
  });
});

describe('a shared lock', () => {
  const outage: Fault = { kind: 'resetBefore' };

  test('a wait for a permit goes through an outage', async () => {
    const { locks, clock, network } = virtualLocks();
    network.fault = () => outage;
    const waiting = sharedLock(locks, key, 2).share(owner, { waitMs: 60_000 });
    await clock.advance(5_000);
    network.fault = () => ({ kind: 'none' });
    await clock.advance(5_000);
    await (await waiting).release();
  });

  test('and ends in a LockTimeout that says why', async () => {
    const { locks, clock, network } = virtualLocks();
    network.fault = () => outage;
    const waiting = sharedLock(locks, key, 2).share(owner, { waitMs: 0 });
    const refused = expect(waiting).rejects.toMatchObject({
      name: 'LockTimeout',
      cause: { name: 'LockStoreFailed' },
    });
    await clock.advance(5_000);
    await refused;
  });
});

describe('lead', () => {
  test('one leads at a time; when it loses its lease, another is elected, and later the first again', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const { clock } = first;
    const stop = new AbortController();
    const terms: string[] = [];
    let leading = 0;
    const campaign = (name: string, { locks }: typeof first) =>
      lead(
        locks,
        key,
        owner,
        async (lease) => {
          terms.push(name);
          expect(++leading).toBe(1);
          while (!lease.signal.aborted && !stop.signal.aborted) await clock.sleep(500);
          leading--;
          lease.assertHeld();
        },
        stop.signal,
      );
    const both = Promise.all([campaign('first', first), campaign('second', second)]);
    await clock.advance(20_000);
    expect(terms).toEqual(['first']);
    first.network.fault = () => ({ kind: 'blackHole' });
    await clock.advance(60_000);
    expect(terms).toEqual(['first', 'second']);
    first.network.fault = () => ({ kind: 'none' });
    second.network.fault = () => ({ kind: 'blackHole' });
    await clock.advance(60_000);
    expect(terms).toEqual(['first', 'second', 'first']);
    stop.abort();
    await clock.advance(60_000);
    await both;
    expect(leading).toBe(0);
  });

  test('ends when its work does, and passes on what it returns or throws', async () => {
    const { locks, memory } = virtualLocks();
    const { signal } = new AbortController();
    expect(await lead(locks, key, owner, async () => 'done', signal)).toBe('done');
    const failing = lead(locks, key, owner, () => Promise.reject(new Error('no')), signal);
    await expect(failing).rejects.toThrow('no');
    expect(memory.holder(key)).toBeUndefined();
  });

  test('is elected again after a loss, whatever its work rejects with then', async () => {
    const told: unknown[] = [];
    const { locks, clock, memory } = virtualLocks({ onError: (...error) => told.push(error) });
    const broken = new Error('not an abort');
    const ways: ((lease: Lease) => Promise<unknown>)[] = [
      ({ signal }) => delay(3_600_000, undefined, { signal }),
      ({ signal }) => once(new EventEmitter(), 'never', { signal: AbortSignal.any([signal]) }),
      ({ signal }) => once(signal, 'abort').then(() => Promise.reject(broken)),
      async () => 'led',
    ];
    let terms = 0;
    const leading = lead(
      locks,
      key,
      owner,
      async (lease) => ways[terms++]?.(lease),
      new AbortController().signal,
    );
    for (let losses = 1; losses < ways.length; losses++) {
      await clock.advance(1_000);
      expect(terms).toBe(losses);
      memory.lose(key);
      await clock.advance(15_000);
      // The timers and events of Node run outside of the virtual time.
      await expect.poll(() => terms).toBe(losses + 1);
    }
    expect(await leading).toBe('led');
    expect(told).toEqual([[broken, key]]);
  });

  test('the loss of a different lease is an error like any other', async () => {
    const { locks } = virtualLocks();
    const foreign = new LeaseLost('other', { reason: 'taken', detail: '' });
    const failing = lead(locks, key, owner, () => Promise.reject(foreign), new AbortController().signal);
    await expect(failing).rejects.toThrow(foreign);
  });

  test('ends without work if stopped while it follows', async () => {
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    await using _held = await first.locks.tryAcquire(key, owner);
    const stop = new AbortController();
    const following = lead(second.locks, key, owner, async () => 'led', stop.signal);
    await first.clock.advance(130_000);
    stop.abort();
    expect(await following).toBeUndefined();
  });
});

describe('keys', () => {
  test('of a sharded lock', () => {
    expect(shardKeys('jobs/a', 3)).toEqual(['jobs/a/0', 'jobs/a/1', 'jobs/a/2']);
  });

  test('of work items never collide', () => {
    expect(workItemLockKey('inv-1', 'receipt')).toBe('work-items/inv-1#receipt');
    const pairs: [string, string][] = [
      ['a#b', 'c'],
      ['a', 'b#c'],
      ['a%23b', 'c'],
      ['a%', '23b#c'],
    ];
    expect(new Set(pairs.map(([id, stage]) => workItemLockKey(id, stage))).size).toBe(pairs.length);
  });
});

test('a no-op lease is always held', async () => {
  await using lease = noLease(key, owner);
  lease.assertHeld();
  expect(lease).toMatchObject({ key, owner, fence: 0, lost: undefined });
  await lease.release();
  lease.assertHeld();
});
