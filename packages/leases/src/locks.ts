import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { bounded, systemClock } from './clock.ts';
import { nextFence } from './fencingToken.ts';
import { holdLease } from './holdLease.ts';
import {
  type Acquired,
  type HeldLease,
  type Lease,
  type LeaseSetting,
  LockStoreFailed,
  type LocksOptions,
  type ProcessLocks,
  type Wanted,
} from './lease.ts';
import { checkKey, checkOwner } from './lockKeys.ts';
import { isPermanent, type LeaseOwner, type LockStore, type LockView } from './lockStore.ts';
import { noTelemetry, partMetric } from './telemetry.ts';
import { trustedUntil } from './tenure.ts';
import { between, checkLease, leaseTiming, nearestLease } from './timing.ts';
import { waitForLock } from './waitForLock.ts';

// At import: later it would be a call of something missing, in the middle of a lease.
if (typeof Promise.withResolvers !== 'function')
  throw new Error(`@payonce/leases needs Node 22.12 or later, not ${process.versions.node}`);

type Taken = Pick<Acquired, 'sentAt' | 'fence'>;

/**
 * Tries once to acquire the lock; null if another lease holds it. On a store that can: take. Elsewhere: look, acquire, raise
 * (where only the holder can look: acquire, look, raise; unfenced: acquire). A missing lock is created. @throws LockStoreFailed
 * if a request got no answer in `tries` attempts, or the lease ran out before it could be used. A lease acquired by then is
 * released.
 */
export async function attemptAcquire(
  wanted: Wanted,
  setting: Omit<LeaseSetting, 'telemetry'>,
): Promise<Acquired | null> {
  const { key, owner, fenced } = wanted;
  const { store, clock, timing, fenceFloor } = setting;
  const leaseId = randomUUID();
  const looksFirst = fenced && store.traits.looks === 'anyone' && store.take === undefined;

  const [view, floor = 0] = await Promise.all([
    looksFirst ? lookOrCreate() : undefined,
    fenced && fenceFloor !== undefined ? answered((signal) => fenceFloor(key, signal)) : undefined,
  ]);
  if (view?.held) return null;
  try {
    const taken = store.take === undefined ? await takeInSteps() : await takeAtOnce(store.take);
    if (taken === null) return null;
    if (clock.monotonic() < trustedUntil(taken.sentAt, timing)) return { key, owner, leaseId, ...taken };
    throw new LockStoreFailed(`Cannot lock "${key}"`, new Error('the lease ran out before it could be used'));
  } catch (error) {
    // An acquire whose answer was lost may have been applied, and no one else knows its lease id.
    await bounded(clock, timing.attemptMs, (signal) => store.release(key, leaseId, signal)).catch(() => {});
    throw error;
  }

  async function takeAtOnce(take: NonNullable<LockStore['take']>): Promise<Taken | null> {
    const { leaseMs } = timing;
    let sentAt = 0;
    const fence = await answered((signal) => {
      sentAt = clock.monotonic();
      const record = fenced ? { owner, since: clock.now(), floor } : undefined;
      return take(key, leaseId, { leaseMs, record, place: wanted.place }, signal);
    });
    return fence === 'held' ? null : { sentAt, fence };
  }

  async function takeInSteps(): Promise<Taken | null> {
    for (let created = false; ; created = true) {
      let sentAt = 0;
      const answer = await answered((signal) => {
        sentAt = clock.monotonic();
        return store.acquire(key, leaseId, timing.leaseMs, signal);
      });
      if (answer === 'acquired') {
        const fence = fenced ? await raiseFence(view ?? (await lookOrCreate())) : 0;
        return fence === null ? null : { sentAt, fence };
      }
      if (answer === 'held' || created) return null;
      await answered((signal) => store.create(key, signal));
    }
  }

  async function lookOrCreate(): Promise<LockView> {
    const seen = await answered((signal) => store.look(key, signal));
    return seen ?? (await answered((signal) => store.create(key, signal)));
  }

  /** The fence written, or null if the lease was lost first. */
  async function raiseFence(first: LockView): Promise<number | null> {
    let seen: LockView | undefined = first;
    let failure: unknown;
    for (let left = Math.max(2, wanted.tries); left > 0 && seen !== undefined; left--) {
      const { version, record, now } = seen;
      const since = clock.now();
      const fence = nextFence(record?.fence, now ?? since, floor);
      try {
        const outcome = await bounded(clock, timing.attemptMs, (signal) =>
          store.raise(key, leaseId, { fence, owner, since, leaseMs: timing.leaseMs }, version, signal),
        );
        if (outcome === 'raised') return fence;
        if (outcome !== 'changed') return null;
      } catch (error) {
        // The raise may have been applied: look for the version to raise from. A skipped number does no harm.
        failure = error;
        if (isPermanent(store, error)) break;
      }
      seen = await answered((signal) => store.look(key, signal));
    }
    if (seen === undefined) return null;
    failure ??= new Error('its record changed on every attempt');
    throw failed(`Cannot write the fence of "${key}"`, failure);
  }

  function failed(what: string, error: unknown): LockStoreFailed {
    return new LockStoreFailed(what, error, isPermanent(store, error));
  }

  /** The answer to a request that is safe to repeat. */
  async function answered<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let sent = 1; ; sent++) {
      try {
        return await bounded(clock, timing.attemptMs, request);
      } catch (error) {
        if (sent >= wanted.tries || isPermanent(store, error)) throw failed(`Cannot lock "${key}"`, error);
        await clock.sleep(between(200, 400, setting.random));
      }
    }
  }
}

/**
 * The locks of a process. Call `drain` before it ends, or they stay held until their leases run out. @throws RangeError unless
 * the store grants leases of `leaseSeconds`.
 */
export function createLocks(store: LockStore, options: LocksOptions = {}): ProcessLocks {
  const { clock = systemClock, telemetry = noTelemetry, random = Math.random } = options;
  const { backoff = { firstMs: 100, mostMs: 1000 }, fenceFloor, leaseSeconds, onError } = options;
  const { owner: self = { instance: `${hostname()}:${process.pid}`, job: 'default' } } = options;
  const chosen = leaseSeconds === undefined ? nearestLease(30_000, store.traits) : leaseTiming(leaseSeconds);
  const timing = options.timing ?? chosen;
  checkLease(timing, store.traits);
  const setting: LeaseSetting = { store, clock, telemetry, timing, random, fenceFloor };
  const held = new Set<HeldLease>();
  const stopping = new AbortController();
  const idle = new AbortController();
  let attempts = 0;
  let draining: Promise<void> | undefined;

  function ifIdle(): void {
    if (stopping.signal.aborted && held.size === 0 && attempts === 0) idle.abort();
  }

  async function attempt(wanted: Wanted): Promise<Lease | null> {
    const { job } = wanted.owner;
    attempts++;
    try {
      const acquired = await attemptAcquire(wanted, setting);
      if (acquired === null) return null;
      const lease = holdLease(acquired, setting, (ended) => {
        held.delete(ended);
        ifIdle();
      });
      if (lease.lost === undefined) held.add(lease);
      telemetry.count(partMetric.leaseAcquired, { job });
      telemetry.record(partMetric.leaseFence, lease.fence, { job });
      if (!stopping.signal.aborted) return lease;
      await lease.release();
      return null;
    } finally {
      attempts--;
      ifIdle();
    }
  }

  async function drain(graceMs: number): Promise<void> {
    stopping.abort();
    ifIdle();
    await clock.sleep(graceMs, idle.signal).catch(() => {});
    await Promise.all([...held].map((lease) => lease.surrender('the process is shutting down')));
  }

  const drainOnce = (graceMs: number) => (draining ??= drain(graceMs));

  return {
    stopping: stopping.signal,
    onError,

    async tryAcquire(key, owner = self, { fenced = true } = {}) {
      checkKey(key);
      checkOwner(owner);
      if (stopping.signal.aborted) return null;
      const lease = await attempt({ key, owner, fenced, tries: 3 });
      if (lease === null) telemetry.count(partMetric.leaseSkipped, { job: owner.job });
      return lease;
    },

    async acquire(key, owner = self, { fenced = true, ...wait }) {
      checkKey(key);
      checkOwner(owner);
      const parts = { attempt, setting, backoff, stopping: stopping.signal, onError };
      return waitForLock({ key, owner, fenced, tries: 1 }, wait, parts);
    },

    drain: drainOnce,

    async [Symbol.asyncDispose]() {
      await drainOnce(0);
      await store[Symbol.asyncDispose]();
    },
  };
}

/** A lease for work that is written against one but needs no lock: always held, fence 0, makes no requests. */
export function noLease(key: string, owner: LeaseOwner): Lease {
  return {
    key,
    owner,
    fence: 0,
    signal: new AbortController().signal,
    lost: undefined,
    remainingMs: Number.POSITIVE_INFINITY,
    assertHeld() {},
    async release() {},
    async [Symbol.asyncDispose]() {},
  };
}
