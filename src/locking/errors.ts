import { errorText } from '../platform/errorText.ts';
/**
 * Why a lease was lost, by what was seen:
 * - `expired`: its trusted time ran out without a renewal that failed (the process stood still, or is ending);
 * - `unreachable`: its trusted time ran out while renewals failed or stayed unanswered;
 * - `taken`: the store says that another lease holds the lock, or that ours no longer does;
 * - `broken`: the store says that someone broke the lease;
 * - `deleted`: the lock itself is gone from the store.
 */
export type LostReason = 'expired' | 'taken' | 'broken' | 'deleted' | 'unreachable';

export interface Loss {
  reason: LostReason;
  detail: string;
}

/** The lease no longer protects the work: stop before the next side effect. Final; never retried under this lease. */
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

/** `assertHeld()` was called on a lease that its own holder had released: a mistake in the calling code. */
export class LeaseReleased extends Error {
  override readonly name = 'LeaseReleased';

  constructor(key: string) {
    super(`The lease on "${key}" has been released`);
  }
}

/** The lock stayed out of reach for the whole wait; `cause` is the store's error if the last look had no answer. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout';
  readonly key: string;

  constructor(key: string, waitMs: number, cause?: unknown) {
    super(`"${key}" was not free within ${waitMs} ms`, cause === undefined ? undefined : { cause });
    this.key = key;
  }
}

/** A handler wrapped with `whenHeld: 'throw'` found its lock held. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';

  constructor(key: string) {
    super(`"${key}" is held elsewhere`);
  }
}

/** The process is ending and takes no new lease. */
export class LocksClosed extends Error {
  override readonly name = 'LocksClosed';

  constructor(key: string) {
    super(`No lease on "${key}": this process is ending`);
  }
}

/** The lock store gave no usable answer: a passing fault, or a setting that is wrong. `cause` is the store's error. */
export class LockStoreFailed extends Error {
  override readonly name = 'LockStoreFailed';

  constructor(what: string, cause: unknown) {
    super(`${what}: ${errorText(cause)}`, { cause });
  }
}
