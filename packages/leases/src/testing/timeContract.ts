import { describe, test } from 'vitest';
import type { Clock } from '../clock.ts';
import { createLocks } from '../index.ts';
import { type ContractWorld, never, one, two } from './subject.ts';

/** Tests how leases end as time passes, and who gets the lock next. */
export function timeContract({ subject, store, record, leaseMs, freshKey, held }: ContractWorld): void {
  const { clock, pass } = subject;
  const { keptBy, expiryLagMs, lease: granted } = store.traits;
  const options = { clock, leaseSeconds: leaseMs / 1000 };
  const next = { instance: 'next', job: 'contract' };
  /** When the store must have let go of a lease that nobody renews. */
  const overMs = leaseMs + expiryLagMs;

  /** Returns the outcome of `attempt`. It begins anew, up to five times, if this process stood still for too long to tell. */
  async function inTime<T>(ms: number, attempt: (late: () => boolean) => Promise<T | 'late'>): Promise<T> {
    for (let tries = 0; tries < 5; tries++) {
      const outcome = await attempt(stopwatch(clock, ms));
      if (outcome !== 'late') return outcome;
    }
    throw new Error('this machine is too busy to measure the time of a lease');
  }

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
      const outcomes = await inTime(leaseMs, async (late) => {
        const { key } = await held();
        await pass(leaseMs * 0.55);
        const renewed = await store.renew(key, one, leaseMs, never);
        if (late()) return 'late';
        const again = stopwatch(clock, leaseMs);
        await pass(leaseMs * 0.55);
        const other = await store.acquire(key, two, leaseMs, never);
        return again() ? 'late' : [renewed, other];
      });
      expect(outcomes).toEqual(['renewed', 'held']);
    });

    test.runIf(2 * leaseMs <= granted.maxMs)(
      'an acquire that the holder repeats restarts the lease with a new length',
      async ({ expect }) => {
        const { key, answers } = await inTime(2 * leaseMs, async (late) => {
          const { key } = await held();
          const again = await store.acquire(key, one, 2 * leaseMs, never);
          await pass(leaseMs * 1.2);
          const answers = [again, await store.acquire(key, two, leaseMs, never)];
          return late() ? 'late' : { key, answers };
        });
        expect(answers).toEqual(['acquired', 'held']);
        await pass(leaseMs * 0.8 + expiryLagMs);
        expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
      },
    );

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
      expect(lease.fence).toBeGreaterThan(holder.fence);
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
        expect(lease.fence).toBeGreaterThan(holder.fence);
        holder.thaw();
        await pass(1000);
        const refused = await holder.refused;
        // It may have been frozen with a renewal in flight.
        expect(refused).toMatchObject({
          reason: expect.stringMatching(/^(expired|unreachable)$/),
          signalled: true,
        });
        expect(holder.steps()).toBe(stepsBefore);
        lease.assertHeld();
        await lease.release();
      },
    );
  });
}

/** Tells whether `ms` milliseconds have passed since. */
function stopwatch(clock: Clock, ms: number): () => boolean {
  const until = clock.monotonic() + ms;
  return () => clock.monotonic() >= until;
}
