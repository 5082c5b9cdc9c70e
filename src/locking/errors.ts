import { errorText } from '../platform/errorText.ts';

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
  /** What was observed, for logs and error messages. */
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
