import type { Clock } from './clock.ts';
import { errorText } from './errorText.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';
import type { Telemetry } from './telemetry.ts';
import type { LeaseTiming } from './timing.ts';

/** A lock that this process holds. Release it when done: `await using` does. */
export interface Lease extends AsyncDisposable {
  readonly key: string;
  /**
   * Fencing token: greater than that of every earlier holder. Send it with each write that the lease
   * protects. 0 for a lease without a fence.
   */
  readonly fence: number;
  readonly owner: LeaseOwner;
  /**
   * Aborts once, for good, when the lease is lost; the reason is a `LeaseLost`. A release does not abort it.
   * Driven by a timer: after a pause, code that has not yielded to the event loop learns of the loss
   * through `assertHeld()` or `lost` only.
   */
  readonly signal: AbortSignal;
  /**
   * Why the lease was lost; undefined while it is held, and after a timely release. Compares the clock, as
   * `assertHeld` does.
   */
  readonly lost: Loss | undefined;
  /**
   * Time left until the holder stops trusting the lease if no further renewal succeeds (ms): 0 once it is lost or released. Renewals
   * go on by themselves, so work that needs longer than this only has to call `assertHeld` again.
   */
  readonly remainingMs: number;
  /**
   * Call it right before each side effect. It compares the clock, so it is right even in the first line of
   * code after a pause.
   *
   * @throws LeaseLost if the lease is lost, LeaseReleased after `release()`.
   */
  assertHeld(): void;
  /**
   * Gives the lock back, unless the lease is lost. Idempotent, never rejects, takes at most two request
   * timeouts (5 s each by default). A lease that cannot be released runs out by itself.
   */
  release(): Promise<void>;
}

/** A lease as its process sees it, which can take it away at shutdown. */
export interface HeldLease extends Lease {
  /**
   * Takes the lease away from its holder, who learns of it through `signal`, and gives it back to the store.
   * Never rejects.
   */
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

/**
 * The highest fence that the store of the protected data has seen for a lock; undefined if it has seen none. New fences are
 * higher, even if the lock store lost its data or was exchanged for another.
 */
export type FenceFloor = (key: string, signal: AbortSignal) => Promise<number | undefined>;

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

/**
 * The lease no longer protects the work: stop before the next side effect. Final. Do not retry under this
 * lease; acquire a new one.
 */
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

/**
 * The lock could not be acquired within the wait. `cause` is a `LockStoreFailed` if the last attempt got no
 * answer.
 */
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

/**
 * The lock store gave no usable answer: a transient fault or a wrong setting. `cause` is the store's error.
 */
export class LockStoreFailed extends Error {
  override readonly name = 'LockStoreFailed';
  /** True if no further try can succeed, as after a wrong password: `acquire` does not go on waiting. */
  readonly permanent: boolean;

  constructor(what: string, cause: unknown, permanent = false) {
    super(`${what}: ${errorText(cause)}`, { cause });
    this.permanent = permanent;
  }
}
