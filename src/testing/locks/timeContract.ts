import { describe, test } from 'vitest';
import { createLocks } from '../../locking/index.ts';
import { noTelemetry } from '../../platform/telemetry.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** How leases end as time passes, and who gets the lock next. */
export function timeContract({ subject, store, record, leaseMs, freshKey, held }: ContractWorld): void {
  const { clock, pass } = subject;
  const { keptBy, expiryLagMs, lease: granted } = store.traits;
  const options = { clock, telemetry: noTelemetry, leaseSeconds: leaseMs / 1000 };
  const next = { instance: 'next', job: 'contract' };
  /** When the store must have let go of a lease that nobody renews. */
  const overMs = leaseMs + expiryLagMs;

  describe('as time passes', { concurrent: subject.realTime }, () => {
    test('an expired lease is free for others, and its old id no longer works', async ({ expect }) => {
      const [{ key, version }, { key: taken }] = [await held(), await held()];
      await pass(overMs);
      expect(await store.raise(key, one, record, version, never)).toMatchObject({ kind: 'refused' });
      // Azurite renews the other lease and answers 200.
      expect(await store.renew(key, two, leaseMs, never)).toMatchObject({ kind: 'refused', reason: 'taken' });
      expect(await store.acquire(taken, two, leaseMs, never)).toBe('acquired');
      expect(await store.renew(taken, one, leaseMs, never)).toMatchObject({ kind: 'refused' });
      expect(await store.release(taken, one, never)).toBe('gone');
      expect(await store.renew(taken, two, leaseMs, never)).toBe('renewed');
    });

    test('a renewed lease lives on', async ({ expect }) => {
      const { key } = await held();
      await pass(leaseMs * 0.55);
      expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
      await pass(leaseMs * 0.55);
      expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
    });

    test.runIf(2 * leaseMs <= granted.maxMs)(
      'an acquire that the holder repeats restarts the lease with a new length',
      async ({ expect }) => {
        const { key } = await held();
        expect(await store.acquire(key, one, 2 * leaseMs, never)).toBe('acquired');
        await pass(leaseMs * 1.2);
        expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
        await pass(leaseMs * 0.8 + expiryLagMs);
        expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      },
    );

    test('with a minimum hold time the lock stays taken after its release, and then is free', async ({
      expect,
    }) => {
      const key = freshKey();
      const locks = createLocks(store, options);
      const lease = await locks.acquire(key, next, { waitMs: 10_000, minHoldMs: leaseMs });
      await lease.release();
      await pass(leaseMs * 0.5);
      expect(await locks.tryAcquire(key, next)).toBeNull();
      await pass(leaseMs * 0.5 + expiryLagMs);
      const after = await locks.acquire(key, next, { waitMs: 10_000 });
      await after.release();
    });

    test('fifty waiters all get their turn', async ({ expect }) => {
      const key = freshKey();
      const locks = createLocks(store, options);
      let inside = 0;
      const waiters = Array.from({ length: 50 }, async (_, i) => {
        const waiter = { instance: `${i}`, job: 'contract' };
        await using lease = await locks.acquire(key, waiter, { waitMs: 55_000 });
        expect(++inside).toBe(1);
        await clock.sleep(10);
        lease.assertHeld();
        inside--;
        return lease.fence;
      });
      await pass(10_000);
      expect(new Set(await Promise.all(waiters)).size).toBe(50);
    });

    test('a killed holder is succeeded by another, once its lease has run out if an id keeps it', async ({
      expect,
    }) => {
      const key = freshKey();
      const holder = await subject.startHolder(key);
      holder.kill();
      const locks = createLocks(store, options);
      const startedAt = clock.monotonic();
      const waiting = locks.acquire(key, next, { waitMs: overMs + 10_000 });
      await pass(overMs + 1_500);
      const lease = await waiting;
      if (keptBy === 'id') expect(clock.monotonic() - startedAt).toBeGreaterThan(leaseMs * 0.5);
      expect(lease.fence).toBe(holder.fence + 1);
      await lease.release();
    });

    test.runIf(subject.canFreeze)(
      'a holder that was paused for longer than its lease does nothing afterwards',
      async ({ expect }) => {
        const key = freshKey();
        const holder = await subject.startHolder(key);
        await pass(1000);
        expect(holder.steps()).toBeGreaterThan(0);
        holder.freeze();
        await pass(500);
        const stepsBefore = holder.steps();
        const locks = createLocks(store, options);
        const waiting = locks.acquire(key, next, { waitMs: overMs + 10_000 });
        await pass(overMs + 1_500);
        const lease = await waiting;
        expect(lease.fence).toBe(holder.fence + 1);
        holder.thaw();
        await pass(1000);
        expect(await holder.refused).toMatchObject({ reason: 'expired', signalled: true });
        expect(holder.steps()).toBe(stepsBefore);
        lease.assertHeld();
        await lease.release();
      },
    );
  });
}
