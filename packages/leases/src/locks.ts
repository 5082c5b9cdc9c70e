import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { bounded, type Clock, limit, systemClock } from './clock.ts';
import { holdLease } from './holdLease.ts';
import {
  type Acquired,
  type FenceFloor,
  type HeldLease,
  type Lease,
  type LeaseSetting,
  LockStoreFailed,
  LocksClosed,
  LockTimeout,
} from './lease.ts';
import { checkKey, checkOwner } from './lockKeys.ts';
import {
  isPermanent,
  type LeaseOwner,
  type LinePlace,
  type LineWait,
  type LockStore,
  type LockView,
} from './lockStore.ts';
import { noTelemetry, partMetric, type Telemetry } from './telemetry.ts';
import {
  type Backoff,
  between,
  checkLease,
  type LeaseTiming,
  leaseTiming,
  nearestLease,
  trustedUntil,
  waitBefore,
} from './timing.ts';

// At import: later it would be a call of something missing, in the middle of a lease.
if (typeof Promise.withResolvers !== 'function')
  throw new Error(`@payonce/leases needs Node 22.12 or later, not ${process.versions.node}`);

/** Longest pause between two looks of a waiter, in multiples of which its place in line is kept. */
const placeKeptFor = 3;

type Taken = Pick<Acquired, 'sentAt' | 'fence'>;

/** The lock to take, and how. */
export interface Wanted {
  key: string;
  owner: LeaseOwner;
  fenced: boolean;
  /** Attempts per request without an answer, the first included; at least 1. A raise gets at least 2. */
  tries: number;
  /** The place of a caller that waits in line. */
  place?: LinePlace | undefined;
}

/**
 * Tries once to acquire the lock. Returns null if another lease holds it.
 *
 * On a store that can: take. Elsewhere, fenced: look, acquire, raise. The look returns the version and the fence that the raise needs, and on a held
 * lock it saves an acquire that would be refused. Where only the holder can look: acquire, look, raise. Unfenced:
 * acquire only. A missing lock is created on the way.
 *
 * @throws LockStoreFailed if a request got no answer in `tries` attempts, or if the lease ran out before it
 * could be used. A lease acquired by then is released.
 */
export async function attemptAcquire(
  wanted: Wanted,
  setting: Omit<LeaseSetting, 'telemetry'>,
): Promise<Acquired | null> {
  const { key, owner } = wanted;
  const { store, clock, timing, fenceFloor } = setting;
  const leaseId = randomUUID();
  const looksFirst = wanted.fenced && store.traits.looks === 'anyone' && store.take === undefined;

  const [view, floor] = await Promise.all([looksFirst ? lookOrCreate() : undefined, readFloor()]);
  if (view?.held) return null;
  try {
    const taken = store.take === undefined ? await takeInSteps() : await takeAtOnce(store.take);
    if (taken === null) return null;
    const { sentAt, fence } = taken;
    if (clock.monotonic() < trustedUntil(sentAt, timing)) return { key, owner, leaseId, fence, sentAt };
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
      const record = wanted.fenced ? { owner, since: clock.now(), floor } : undefined;
      return take(key, leaseId, { leaseMs, record, place: wanted.place }, signal);
    });
    return fence === 'held' ? null : { sentAt, fence };
  }

  async function takeInSteps(): Promise<Taken | null> {
    const sentAt = await acquire();
    if (sentAt === null) return null;
    const fence = wanted.fenced ? await raiseFence(view ?? (await lookOrCreate())) : 0;
    return fence === null ? null : { sentAt, fence };
  }

  /** Send time of the successful acquire, or null if another lease holds the lock. */
  async function acquire(): Promise<number | null> {
    for (let created = false; ; created = true) {
      let sentAt = 0;
      const answer = await answered((signal) => {
        sentAt = clock.monotonic();
        return store.acquire(key, leaseId, timing.leaseMs, signal);
      });
      if (answer === 'acquired') return sentAt;
      if (answer === 'held' || created) return null;
      await create();
    }
  }

  function create(): Promise<LockView> {
    return answered((signal) => store.create(key, signal));
  }

  async function lookOrCreate(): Promise<LockView> {
    const view = await answered((signal) => store.look(key, signal));
    return view ?? (await create());
  }

  async function readFloor(): Promise<number> {
    if (!wanted.fenced || fenceFloor === undefined) return 0;
    return (await answered((signal) => fenceFloor(key, signal))) ?? 0;
  }

  /** The fence written, or null if the lease was lost first. */
  async function raiseFence(seen: LockView): Promise<number | null> {
    let view: LockView | undefined = seen;
    let failure: unknown;
    for (let left = Math.max(2, wanted.tries); left > 0 && view !== undefined; left--) {
      const { version, record } = view;
      const since = clock.now();
      const fence = nextFence(record?.fence, view.now ?? since, floor);
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
      view = await answered((signal) => store.look(key, signal));
    }
    if (view === undefined) return null;
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
 * The first number above the last fence of the lock and above `floor` that is no less than `now`, in milliseconds since the
 * epoch. So fences rise even if the store has lost its data, as long as that clock does not go back and the lock is acquired
 * less than a thousand times a second.
 */
export function nextFence(last: number | undefined, now: number, floor = 0): number {
  return Math.max(1, (last ?? 0) + 1, Math.floor(now), floor + 1);
}

/** Options of acquiring a lease. */
export interface LeaseChoice {
  /**
   * Default true: the lease gets a fencing token and records its owner. False halves its requests; use it
   * only if the effects of the work are idempotent.
   */
  fenced?: boolean;
}

/**
 * Takes leases on locks by key. The caller must release every lease; `await using` does.
 *
 * A key has 1 to 1,024 characters, and each part of an owner at most 256; the owner is that of `createLocks` unless told. Others are refused with a RangeError, or a
 * TypeError if they are no text, before anything is asked of the store.
 */
export interface Locks {
  /**
   * Tries once. Resolves with null if the lock is held elsewhere or this process is shutting down.
   *
   * @throws LockStoreFailed if the store did not answer in three attempts, or will not answer any.
   */
  tryAcquire(key: string, owner?: LeaseOwner, options?: LeaseChoice): Promise<Lease | null>;
  /**
   * Waits up to `waitMs` milliseconds for the lock (0: tries once). Where the store can wake its waiters, they get it in the
   * order of asking; elsewhere they look again with jittered backoff, and chance decides. An attempt in progress when the
   * time runs out is finished.
   *
   * @throws LockTimeout if the lock stayed held, or the store out of reach, until the time ran out.
   * @throws LockStoreFailed, `permanent`, if no further try can succeed.
   * @throws LocksClosed if this process is shutting down.
   * @throws the reason of `signal` if that aborts. A lease acquired by then is released.
   */
  acquire(
    key: string,
    owner: LeaseOwner | undefined,
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

/** Settings that the leases of a process share. */
export interface LocksOptions {
  /** The owner of leases that are taken without one. Default: this machine and process, with the job `default`. */
  owner?: LeaseOwner;
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
  /** Lower bound of new fences. Default: only the last fence of the lock. */
  fenceFloor?: FenceFloor | undefined;
}

/**
 * The locks of one process. Call `drain` before the process ends: one that dies without it leaves its locks
 * occupied until their leases run out.
 *
 * @throws RangeError unless the store grants leases of `leaseSeconds`.
 */
export function createLocks(store: LockStore, options: LocksOptions = {}): ProcessLocks {
  const { clock = systemClock, telemetry = noTelemetry } = options;
  const { random = Math.random, backoff = { firstMs: 100, mostMs: 1000 } } = options;
  const { fenceFloor, leaseSeconds, onError } = options;
  const { owner: self = { instance: `${hostname()}:${process.pid}`, job: 'default' } } = options;
  const chosen = leaseSeconds === undefined ? nearestLease(30_000, store.traits) : leaseTiming(leaseSeconds);
  const timing = options.timing ?? chosen;
  checkLease(timing, store.traits);
  const setting: LeaseSetting = { store, clock, telemetry, timing, random, fenceFloor };
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
      const ended = (lease: HeldLease) => {
        held.delete(lease);
        ifIdle();
      };
      const lease = holdLease(acquired, setting, ended);
      if (lease.lost === undefined) held.add(lease);
      telemetry.count(partMetric.leaseAcquired, { job: owner.job });
      telemetry.record(partMetric.leaseFence, lease.fence, { job: owner.job });
      if (!stopping.signal.aborted) return lease;
      await lease.release();
      return null;
    } finally {
      attempts--;
      ifIdle();
    }
  }

  /** The place of one who waits for a lock: none before the first pause, nor where the store can wake nobody. */
  function waitingLine(key: string) {
    let wait: LineWait | undefined;

    return {
      place: (): LinePlace | undefined =>
        wait && { ticket: wait.ticket, keptMs: placeKeptFor * backoff.mostMs },

      async pause(ms: number, giveUp: AbortSignal): Promise<void> {
        if (wait === undefined && store.wait !== undefined) {
          const { wait: prepare } = store;
          wait = await bounded(clock, timing.attemptMs, (signal) => prepare(key, signal)).catch(
            () => undefined,
          );
          // It may have become free before anybody knew of this waiter.
          if (wait !== undefined) return;
        }
        if (wait === undefined) return clock.sleep(ms, giveUp).catch(() => {});
        const over = new AbortController();
        const end = () => over.abort('over');
        giveUp.addEventListener('abort', end, { once: true });
        if (giveUp.aborted) end();
        const cancel = limit(clock, ms, end);
        await wait.called(over.signal);
        cancel();
        giveUp.removeEventListener('abort', end);
        // Whatever was asked for the call is given up. Any reason will do: an error would cost as much as all of this.
        end();
      },

      async [Symbol.asyncDispose]() {
        await wait?.[Symbol.asyncDispose]();
      },
    };
  }

  async function drain(graceMs: number): Promise<void> {
    const grace = new AbortController();
    idle = () => grace.abort();
    stopping.abort();
    ifIdle();
    await clock.sleep(graceMs, grace.signal).catch(() => {});
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

    async acquire(key, owner = self, { waitMs, fenced = true, signal }) {
      checkKey(key);
      checkOwner(owner);
      if (!(typeof waitMs === 'number' && waitMs >= 0)) {
        throw new RangeError(`waitMs is 0 or more milliseconds, not ${String(waitMs)}`);
      }
      const startedAt = clock.monotonic();
      const giveUp = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]);
      await using line = waitingLine(key);
      let failure: LockStoreFailed | undefined;
      for (let tries = 0; ; tries++) {
        if (stopping.signal.aborted) throw new LocksClosed(key);
        signal?.throwIfAborted();
        try {
          const lease = await attempt({ key, owner, fenced, tries: 1, place: line.place() });
          if (lease !== null && signal?.aborted) await lease.release();
          else if (lease !== null) {
            telemetry.record(partMetric.leaseWaitedMs, clock.monotonic() - startedAt, { job: owner.job });
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
        await line.pause(Math.min(left, waitBefore(tries, backoff, random)), giveUp);
      }
    },

    drain: drainOnce,

    async [Symbol.asyncDispose]() {
      await drainOnce(0);
      await store[Symbol.asyncDispose]();
    },
  };
}

/**
 * A lease for work that is written against one but needs no lock: always held, fence 0, makes no requests.
 */
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
