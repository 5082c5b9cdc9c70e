import { describe, expect, test } from 'vitest';
import { acquireAll, createLocks, forgetLocks, type Lease, LockTimeout, sharedLock } from '../index.ts';
import { type ContractWorld, never, watched } from './subject.ts';

/** Time in which a waiter gets what has become free (ms), on a busy machine. */
const soonMs = 3_000;

/** Tests locks of several permits, several locks at once, and locks that are deleted. */
export function sharedLockContract({ subject, store, leaseMs, freshKey, prefix }: ContractWorld): void {
  const { clock, pass, realTime } = subject;
  const locks = (on = store) => createLocks(on, { clock, leaseSeconds: leaseMs / 1000 });
  const waitMs = 30_000;
  const [a, b] = ['a', 'b'].map((instance) => ({ instance, job: 'contract' }));
  /** Outcome of `waiting` while time passes. */
  async function soon<T>(waiting: Promise<T>): Promise<T> {
    if (!realTime) await pass(soonMs);
    return waiting;
  }
  const release = (leases: readonly (Lease | null)[]) =>
    Promise.all(leases.map(async (lease) => lease?.release()));

  describe('a lock of three permits', () => {
    test('is shared by three and no more; a fourth gets the permit that is released', async () => {
      const shared = sharedLock(locks(), freshKey(), 3);
      const three = await Promise.all([shared.tryShare(a), shared.share(b, { waitMs }), shared.tryShare(a)]);
      expect(new Set(three.map((lease) => lease?.key)).size).toBe(3);
      expect(await shared.tryShare(b)).toBeNull();
      const waiting = shared.share(b, { waitMs });
      await three[1]?.release();
      const fourth = await soon(waiting);
      expect(fourth.key).toBe(three[1]?.key);
      expect(fourth.fence).toBeGreaterThan(three[1]?.fence ?? 0);
      await release([three[0] ?? null, three[2] ?? null, fourth]);
    });

    test('is held alone by one who excludes the others, after they have left and before they come back', async () => {
      const shared = sharedLock(locks(), freshKey(), 3);
      const readers = [await shared.tryShare(a), await shared.tryShare(a)];
      let excluded = false;
      const excluding = shared.exclude(b, { waitMs }).then((writer) => {
        excluded = true;
        return writer;
      });
      await pass(200);
      expect(excluded).toBe(false);
      await release(readers);
      const writer = await soon(excluding);
      expect(writer.leases).toHaveLength(3);
      writer.assertHeld();
      expect(await shared.tryShare(a)).toBeNull();
      await writer.release();
      const again = await soon(shared.exclude(a, { waitMs }));
      expect(again.fence).toBeGreaterThan(writer.fence);
      await again.release();
    });

    test('one who gives up keeps nothing', async () => {
      const shared = sharedLock(locks(), freshKey(), 3);
      const reader = await shared.tryShare(a);
      const refused = shared.exclude(b, { waitMs: 0 });
      await expect(refused).rejects.toThrow(LockTimeout);
      await reader?.release();
      const all = [await shared.tryShare(a), await shared.tryShare(a), await shared.tryShare(a)];
      expect(all).not.toContain(null);
      await expect(shared.share(b, { waitMs: 0 })).rejects.toThrow(LockTimeout);
      await release(all);
    });
  });

  describe('several locks at once', () => {
    test('two who want the same in another order get them one after the other', async () => {
      const [x, y] = [freshKey(), freshKey()];
      const order: string[] = [];
      const take = async (instance: string, keys: string[]) => {
        const group = await acquireAll(locks(), keys, { instance, job: 'contract' }, { waitMs });
        order.push(`${instance} in`);
        await clock.sleep(20);
        group.assertHeld();
        order.push(`${instance} out`);
        await group.release();
      };
      await soon(Promise.all([take('a', [x, y]), take('b', [y, x])]));
      expect(order.map((step) => step.slice(2))).toEqual(['in', 'out', 'in', 'out']);
    });

    test('are lost together', async () => {
      const ids: string[] = [];
      const own = locks(watched(store, (id) => ids.push(id)));
      const keys = [freshKey(), freshKey()].toSorted();
      const group = await acquireAll(own, keys, a, { waitMs });
      expect(group.remainingMs).toBeGreaterThan(0);
      await subject.lose(keys[1] ?? '', ids.at(-1) ?? '');
      await pass(leaseMs * 0.5);
      expect(group.lost).toBeDefined();
      expect(group.signal.aborted).toBe(true);
      expect(() => group.assertHeld()).toThrow('lost');
      expect(group.remainingMs).toBe(0);
      await group.release();
    });
  });

  describe.runIf(store.forget !== undefined)('a lock that is forgotten', () => {
    const forget = (key: string, version: string) => store.forget?.(key, version, never);

    test('is gone, unless it is held or has changed; its next fence is higher', async () => {
      const key = freshKey();
      const own = locks();
      const lease = await own.acquire(key, a, { waitMs: 0 });
      const { version } = (await store.look(key, never)) ?? { version: '' };
      expect(await forget(key, version)).toBe('held');
      await lease.release();
      expect(await forget(key, '"1"')).toBe('changed');
      expect(await forget(key, version)).toBe('forgotten');
      expect(await store.look(key, never)).toBeUndefined();
      expect(await forget(key, version)).toBe('forgotten');
      await pass(5);
      const next = await own.acquire(key, b, { waitMs: 0 });
      expect(next.fence).toBeGreaterThan(lease.fence);
      await next.release();
    });

    test('may be one of many: those that are in use, or were lately, stay', async () => {
      const folder = `${prefix}forget/${freshKey().length}-${Math.random()}/`;
      const own = locks();
      for (const name of ['old', 'other'])
        await (await own.acquire(folder + name, a, { waitMs: 0 })).release();
      await pass(60);
      const held = await own.acquire(`${folder}held`, a, { waitMs: 0 });
      await (await own.acquire(`${folder}new`, a, { waitMs: 0 })).release();
      const unusedMs = 50;
      // The last one was used just now, on a machine that is not too busy.
      expect(await forgetLocks(store, { prefix: folder, unusedMs: 3_600_000, clock })).toBe(0);
      expect(await forgetLocks(store, { prefix: folder, unusedMs, clock })).toBeGreaterThanOrEqual(2);
      expect(await store.look(`${folder}held`, never)).toMatchObject({ held: true });
      expect(await store.look(`${folder}old`, never)).toBeUndefined();
      await held.release();
    });
  });
}
