import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import { attemptAcquire, type Wanted } from './acquire.ts';
import { type Backoff, waitBefore } from './backoff.ts';
import { LockStoreFailed, LocksClosed, LockTimeout } from './errors.ts';
import { type HeldLease, holdLease, type Lease, type LeaseSetting } from './lease.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';
import { type LeaseTiming, leaseTiming } from './timing.ts';

export interface LeaseChoice {
  /** True if absent: the lease gets a fence and leaves its owner's name. False halves its requests. */
  fenced?: boolean;
  /** Without a fence only: nobody had this lock before, as far as one knows. Saves a request if so, costs two if not. */
  likelyNew?: boolean;
}

export interface Locks {
  /**
   * Null: held elsewhere, or this process is ending. @throws LockStoreFailed when the store gave no answer in three tries.
   */
  tryAcquire(key: string, owner: LeaseOwner, options?: LeaseChoice): Promise<Lease | null>;
  /**
   * Looks again and again for `waitMs` milliseconds (0: once); a look that has begun is brought to its end. @throws
   * LockTimeout when it stayed out of reach, LocksClosed when this process is ending, the signal's reason when that aborts.
   */
  acquire(
    key: string,
    owner: LeaseOwner,
    options: LeaseChoice & { waitMs: number; signal?: AbortSignal },
  ): Promise<Lease>;
}

/** The locks of one process, which also knows when that process ends. */
export interface ProcessLocks extends Locks {
  /** Aborts when `drain` begins: long work stops after its current step. */
  readonly stopping: AbortSignal;
  /** Takes no new lease, waits up to `graceMs` for the held ones to be released by their holders, then takes them away. */
  drain(graceMs: number): Promise<void>;
}

export interface LocksOptions {
  clock: Clock;
  telemetry: Telemetry;
  /** 15 to 60, the service's limits; 30 if absent. */
  leaseSeconds?: number;
  /** Instead of what follows from `leaseSeconds`. */
  timing?: LeaseTiming;
  /** Between two looks of a waiter; 100 ms to 1 s if absent. */
  backoff?: Backoff;
  /** In [0, 1); Math.random if absent. */
  random?: () => number;
}

export function createLocks(store: LockStore, options: LocksOptions): ProcessLocks {
  const { clock, telemetry, random = Math.random, backoff = { firstMs: 100, mostMs: 1000 } } = options;
  const timing = options.timing ?? leaseTiming(options.leaseSeconds ?? 30);
  const setting: LeaseSetting = { store, clock, telemetry, timing, random };
  const held = new Set<HeldLease>();
  const stopping = new AbortController();
  let attempts = 0;
  let idle = () => {};
  let draining: Promise<void> | undefined;

  const ifIdle = () => {
    if (held.size === 0 && attempts === 0) idle();
  };

  async function attempt(wanted: Wanted): Promise<Lease | null> {
    const { owner } = wanted;
    attempts++;
    try {
      const acquired = await attemptAcquire(wanted, setting);
      if (acquired === null) return null;
      const lease = holdLease(acquired, setting, (ended) => {
        held.delete(ended);
        ifIdle();
      });
      held.add(lease);
      telemetry.count(metric.leaseAcquired, { job: owner.job });
      telemetry.record(metric.leaseFence, lease.fence, { job: owner.job });
      if (!stopping.signal.aborted) return lease;
      await lease.release();
      return null;
    } finally {
      attempts--;
      ifIdle();
    }
  }

  async function drain(graceMs: number): Promise<void> {
    const grace = new AbortController();
    idle = () => grace.abort();
    stopping.abort();
    ifIdle();
    await clock.sleep(graceMs, grace.signal).catch(() => {});
    await Promise.all([...held].map((lease) => lease.surrender('the process is ending')));
  }

  return {
    stopping: stopping.signal,

    async tryAcquire(key, owner, { fenced = true, likelyNew = false } = {}) {
      if (stopping.signal.aborted) return null;
      const lease = await attempt({ key, owner, fenced, likelyNew, tries: 3 });
      if (lease === null) telemetry.count(metric.leaseSkipped, { job: owner.job });
      return lease;
    },

    async acquire(key, owner, { waitMs, fenced = true, likelyNew = false, signal }) {
      const startedAt = clock.monotonic();
      const giveUp = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]);
      let failure: LockStoreFailed | undefined;
      for (let tries = 0; ; tries++) {
        if (stopping.signal.aborted) throw new LocksClosed(key);
        signal?.throwIfAborted();
        try {
          const lease = await attempt({ key, owner, fenced, likelyNew: likelyNew && tries === 0, tries: 1 });
          if (lease !== null && signal?.aborted) await lease.release();
          else if (lease !== null) {
            telemetry.record(metric.leaseWaitedMs, clock.monotonic() - startedAt, { job: owner.job });
            return lease;
          }
          // The store answers (again): what it failed of before is not why the lock is out of reach.
          failure = undefined;
        } catch (error) {
          if (!(error instanceof LockStoreFailed)) throw error;
          failure = error;
        }
        const left = startedAt + waitMs - clock.monotonic();
        if (left <= 0) throw new LockTimeout(key, waitMs, failure);
        await clock.sleep(Math.min(left, waitBefore(tries, backoff, random)), giveUp).catch(() => {});
      }
    },

    drain: (graceMs) => (draining ??= drain(graceMs)),
  };
}
