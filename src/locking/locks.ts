import { type Clock, systemClock } from '../platform/clock.ts';
import { metric, noTelemetry, type Telemetry } from '../platform/telemetry.ts';
import { attemptAcquire, type Wanted } from './acquire.ts';
import { type Backoff, waitBefore } from './backoff.ts';
import { LockStoreFailed, LocksClosed, LockTimeout } from './errors.ts';
import { holdLease } from './holdLease.ts';
import type { FenceFloor, HeldLease, Lease, LeaseSetting } from './lease.ts';
import { checkKey, checkOwner } from './lockRecord.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';
import { checkLease, type LeaseTiming, leaseTiming, nearestLease } from './timing.ts';

/** How to take a lease. */
export interface LeaseChoice {
  /**
   * Default true: the lease gets a fencing token and records its owner. False halves its requests; use it
   * only if the effects of the work are idempotent.
   */
  fenced?: boolean;
  /**
   * Without a fence only: the lock has probably never been taken. Saves a request if so, costs two if not.
   * Default false.
   */
  likelyNew?: boolean;
  /**
   * Keeps the lock for at least this many milliseconds from when it was taken, even if it is released sooner. So a job
   * that ends at once does not run again on an instance whose clock is behind. Default 0. If the process dies, the lock
   * ends with its lease. Where a connection keeps a lease, it ends with the connection.
   */
  minHoldMs?: number;
}

/**
 * Takes leases on locks by key. The caller must release every lease; `await using` does.
 *
 * A key has 1 to 1,024 characters, and each part of an owner at most 256. Others are refused with a RangeError, or a
 * TypeError if they are no text, before anything is asked of the store.
 */
export interface Locks {
  /**
   * Tries once. Resolves with null if the lock is held elsewhere or this process is shutting down.
   *
   * @throws LockStoreFailed if the store did not answer in three attempts, or will not answer any.
   */
  tryAcquire(key: string, owner: LeaseOwner, options?: LeaseChoice): Promise<Lease | null>;
  /**
   * Waits up to `waitMs` milliseconds for the lock, trying with jittered backoff (0: tries once). An attempt
   * in progress when the time runs out is finished. Waiters do not queue; chance decides who gets the lock.
   *
   * @throws LockTimeout if the lock stayed held, or the store out of reach, until the time ran out.
   * @throws LockStoreFailed, `permanent`, if no further try can succeed.
   * @throws LocksClosed if this process is shutting down.
   * @throws the reason of `signal` if that aborts. A lease acquired by then is given back.
   */
  acquire(
    key: string,
    owner: LeaseOwner,
    options: LeaseChoice & { waitMs: number; signal?: AbortSignal },
  ): Promise<Lease>;
  /** See `LocksOptions`. */
  readonly onError?: OnError | undefined;
}

type OnError = (error: unknown, key: string) => void;

/**
 * The locks of one process, and their shutdown. Disposal (`await using`) drains them without grace, and disposes of the
 * store: nothing of them keeps the process alive.
 */
export interface ProcessLocks extends Locks, AsyncDisposable {
  /** Aborts when `drain` begins. Long-running work should check it and stop after the current step. */
  readonly stopping: AbortSignal;
  /**
   * Shuts down: takes no new leases, waits up to `graceMs` milliseconds for holders to release theirs, then
   * takes away the rest (LeaseLost, reason `expired`) and gives them back to the store. Never rejects.
   * Repeated calls get the same promise.
   */
  drain(graceMs: number): Promise<void>;
}

/** What leases of this process share. */
export interface LocksOptions {
  /** Default: the system's. */
  clock?: Clock;
  /** Default: none. */
  telemetry?: Telemetry;
  /** A length that the store grants: 15 to 60 whole seconds for blobs. Default: 30, or what comes closest to it. */
  leaseSeconds?: number;
  /** Replaces the timing that follows from `leaseSeconds`. */
  timing?: LeaseTiming;
  /** Pauses between two looks of a waiter. Default: 100 ms, rising to 1 s. */
  backoff?: Backoff;
  /** Returns values in [0, 1). Default: Math.random. */
  random?: () => number;
  /**
   * Told of each error that nobody else learns of, because `acquire` or `lead` tries again: a server that is out of reach
   * otherwise looks like a lock that is held. It must not throw. Default: none.
   */
  onError?: OnError;
  /** What new fences must exceed. Default: only the last fence of the lock. */
  fenceFloor?: FenceFloor | undefined;
}

/**
 * The locks of one process. Call `drain` before the process ends: one that dies without it leaves its locks
 * taken until their leases run out.
 *
 * @throws RangeError unless the store grants leases of `leaseSeconds`.
 */
export function createLocks(store: LockStore, options: LocksOptions = {}): ProcessLocks {
  const { clock = systemClock, telemetry = noTelemetry } = options;
  const { random = Math.random, backoff = { firstMs: 100, mostMs: 1000 } } = options;
  const { fenceFloor, leaseSeconds, onError } = options;
  const chosen = leaseSeconds === undefined ? nearestLease(30_000, store.traits) : leaseTiming(leaseSeconds);
  const timing = options.timing ?? chosen;
  checkLease(timing, store.traits);
  const setting: LeaseSetting = { store, clock, telemetry, timing, random, fenceFloor };
  const held = new Set<HeldLease>();
  const stopping = new AbortController();
  let attempts = 0;
  let idle = () => {};
  let draining: Promise<void> | undefined;
  /** Locks that stay taken after their release. */
  const keeping = new Set<Promise<void>>();

  const ifIdle = () => {
    if (held.size === 0 && attempts === 0) idle();
  };

  async function attempt(wanted: Wanted, minHoldMs: number): Promise<Lease | null> {
    const { owner } = wanted;
    attempts++;
    try {
      const acquired = await attemptAcquire(wanted, setting);
      if (acquired === null) return null;
      const ended = (lease: HeldLease) => {
        held.delete(lease);
        ifIdle();
      };
      const kept = (until: Promise<void>) => {
        keeping.add(until);
        void until.then(() => keeping.delete(until));
      };
      const lease = holdLease(acquired, setting, { minHoldMs, stopping: stopping.signal, kept, ended });
      if (lease.lost === undefined) held.add(lease);
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
    await Promise.all([...held].map((lease) => lease.surrender('the process is shutting down')));
    await Promise.all(keeping);
  }

  const drainOnce = (graceMs: number) => (draining ??= drain(graceMs));

  return {
    stopping: stopping.signal,
    onError,

    async tryAcquire(key, owner, { fenced = true, likelyNew = false, minHoldMs = 0 } = {}) {
      check(key, owner, minHoldMs);
      if (stopping.signal.aborted) return null;
      const lease = await attempt({ key, owner, fenced, likelyNew, tries: 3 }, minHoldMs);
      if (lease === null) telemetry.count(metric.leaseSkipped, { job: owner.job });
      return lease;
    },

    async acquire(key, owner, { waitMs, fenced = true, likelyNew = false, minHoldMs = 0, signal }) {
      check(key, owner, minHoldMs);
      if (!(typeof waitMs === 'number' && waitMs >= 0)) {
        throw new RangeError(`waitMs is 0 or more milliseconds, not ${String(waitMs)}`);
      }
      const startedAt = clock.monotonic();
      const giveUp = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]);
      let failure: LockStoreFailed | undefined;
      for (let tries = 0; ; tries++) {
        if (stopping.signal.aborted) throw new LocksClosed(key);
        signal?.throwIfAborted();
        try {
          const wanted = { key, owner, fenced, likelyNew: likelyNew && tries === 0, tries: 1 };
          const lease = await attempt(wanted, minHoldMs);
          if (lease !== null && signal?.aborted) await lease.release();
          else if (lease !== null) {
            telemetry.record(metric.leaseWaitedMs, clock.monotonic() - startedAt, { job: owner.job });
            return lease;
          }
          // The store answers again: an earlier failure is not why the lock is out of reach.
          failure = undefined;
        } catch (error) {
          if (!(error instanceof LockStoreFailed) || error.permanent) throw error;
          failure = error;
          onError?.(error, key);
        }
        const left = startedAt + waitMs - clock.monotonic();
        if (left <= 0) throw new LockTimeout(key, waitMs, failure);
        await clock.sleep(Math.min(left, waitBefore(tries, backoff, random)), giveUp).catch(() => {});
      }
    },

    drain: drainOnce,

    async [Symbol.asyncDispose]() {
      await drainOnce(0);
      await store[Symbol.asyncDispose]();
    },
  };
}

/** @throws RangeError or TypeError for what no store can keep. */
function check(key: string, owner: LeaseOwner, minHoldMs: number): void {
  checkKey(key);
  checkOwner(owner);
  if (!(minHoldMs >= 0 && Number.isFinite(minHoldMs))) {
    throw new RangeError(`minHoldMs is 0 or more, not ${minHoldMs}`);
  }
}
