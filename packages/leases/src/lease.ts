import type { Clock } from './clock.ts';
import { errorText } from './errorText.ts';
import type { FenceFloor } from './fencingToken.ts';
import type { LeaseOwner, LinePlace, LockStore } from './lockStore.ts';
import type { Telemetry } from './telemetry.ts';
import type { Backoff, LeaseTiming } from './timing.ts';

/** A lock that this process holds. Release it when done: `await using` does. */
export interface Lease extends AsyncDisposable {
  readonly key: string;
  /** Fencing token: greater than every earlier holder's, 0 without one. Send it with each write that the lease protects. */
  readonly fence: number;
  readonly owner: LeaseOwner;
  /**
   * Aborts once, for good, when the lease is lost (reason: a `LeaseLost`), not when it is released. Driven by a timer: right
   * after a pause only `assertHeld()` and `lost` know.
   */
  readonly signal: AbortSignal;
  /** Why the lease was lost; undefined while it is held, and after a timely release. Compares the clock. */
  readonly lost: Loss | undefined;
  /** Time until the holder stops trusting the lease if no further renewal succeeds (ms); 0 once it is lost or released. */
  readonly remainingMs: number;
  /** Call it right before each side effect: it compares the clock. @throws LeaseLost, or LeaseReleased after `release()` */
  assertHeld(): void;
  /** Gives the lock back, unless the lease is lost. Idempotent, never rejects, takes two request timeouts at most. */
  release(): Promise<void>;
}

/** Options of acquiring a lease. */
export interface LeaseChoice {
  /** Default: true. False halves the requests, without a fencing token and owner: only for work with idempotent effects. */
  fenced?: boolean;
}

/**
 * Takes leases on locks by key. The caller must release every lease; `await using` does. A key has 1 to 1,024 characters, each
 * part of an owner (default: that of `createLocks`) at most 256; others are refused with a RangeError or TypeError before any
 * request.
 */
export interface Locks {
  /**
   * Tries once. Null if the lock is held elsewhere or this process shuts down. @throws LockStoreFailed after three tries, or if
   * it is permanent.
   */
  tryAcquire(key: string, owner?: LeaseOwner, options?: LeaseChoice): Promise<Lease | null>;
  /**
   * Waits up to `waitMs` milliseconds for the lock (0: tries once), and finishes an attempt in progress. Where the store can wake its
   * waiters, they get it in the order of asking; elsewhere they look again with jittered backoff, and chance decides.
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

/** The locks of one process, and their shutdown. Disposal drains them without grace and disposes of the store. */
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
   * Told of each error that nobody else learns of, because `acquire` or `lead` tries again. It must not throw. Default: none.
   */
  onError?: OnError;
  /** Lower bound of new fences. Default: only the last fence of the lock. */
  fenceFloor?: FenceFloor | undefined;
}

/** A lease as its process sees it, which can take it away at shutdown. */
export interface HeldLease extends Lease {
  /** Takes the lease from its holder, who learns of it by `signal`, and gives it back to the store. Never rejects. */
  surrender(detail: string): Promise<void>;
}

/** Setting that the leases of a process share. */
export interface LeaseSetting {
  store: LockStore;
  clock: Clock;
  telemetry: Telemetry;
  timing: LeaseTiming;
  /** Returns values in [0, 1). */
  random: () => number;
  /** Undefined: new fences need only exceed the last one of the lock. */
  fenceFloor?: FenceFloor | undefined;
}

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

/** A lease that the store has just granted. */
export interface Acquired {
  key: string;
  owner: LeaseOwner;
  leaseId: string;
  fence: number;
  /** Send time of the successful acquire (ms on the monotonic clock). */
  sentAt: number;
}

/**
 * Why a lease was lost:
 * - `expired`: the trusted time ran out although no renewal failed: the process was paused, or is ending.
 * - `unreachable`: the trusted time ran out while renewals failed or got no answer.
 * - `taken`: the store says that another lease holds the lock, or that ours no longer does.
 * - `broken`: the store says that someone broke the lease.
 * - `deleted`: the lock is gone from the store.
 */
export type LostReason = 'expired' | 'taken' | 'broken' | 'deleted' | 'unreachable';

export interface Loss {
  reason: LostReason;
  /** Observation, for logs and error messages. */
  detail: string;
}

/** The lease no longer protects the work: stop before the next side effect. Final: acquire a new one. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  readonly key: string;
  readonly reason: LostReason;
  readonly detail: string;

  constructor(key: string, loss: Loss) {
    super(`The lease on "${key}" is lost (${loss.reason}): ${loss.detail}`);
    this.key = key;
    this.reason = loss.reason;
    this.detail = loss.detail;
  }
}

/** `assertHeld()` was called after `release()`: a bug in the calling code. */
export class LeaseReleased extends Error {
  override readonly name = 'LeaseReleased';

  constructor(key: string) {
    super(`The lease on "${key}" has been released`);
  }
}

/** The lock was not acquired within the wait. `cause`: the `LockStoreFailed` of the last attempt, if it got no answer. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
  readonly key: string;

  constructor(key: string, waitMs: number, cause?: unknown) {
    super(`Cannot lock "${key}" within ${waitMs} ms`, cause === undefined ? undefined : { cause });
    this.key = key;
  }
}

/** A handler wrapped with `whenHeld: 'throw'` found its lock held elsewhere. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';

  constructor(key: string) {
    super(`"${key}" is held elsewhere`);
  }
}

/** This process is shutting down and takes no new leases. */
export class LocksClosed extends Error {
  override readonly name = 'LocksClosed';

  constructor(key: string) {
    super(`Cannot lock "${key}": this process is shutting down`);
  }
}

/** The lock store gave no usable answer: a transient fault or a wrong setting. `cause` is the store's error. */
export class LockStoreFailed extends Error {
  override readonly name = 'LockStoreFailed';
  /** True if no further try can succeed, as after a wrong password: `acquire` does not go on waiting. */
  readonly permanent: boolean;

  constructor(what: string, cause: unknown, permanent = false) {
    super(`${what}: ${errorText(cause)}`, { cause });
    this.permanent = permanent;
  }
}
