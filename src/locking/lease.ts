import type { Clock } from '../platform/clock.ts';
import type { Telemetry } from '../platform/telemetry.ts';
import type { Loss } from './errors.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';
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
   * Driven by a timer: after a pause, code that has not yet yielded to the event loop learns of the loss
   * through `assertHeld()` or `lost` only.
   */
  readonly signal: AbortSignal;
  /**
   * Why the lease was lost; undefined while it is held, and after a timely release. Compares the clock, as
   * `assertHeld` does.
   */
  readonly lost: Loss | undefined;
  /**
   * Call it right before each side effect. It compares the clock, so it is right even in the first line of
   * code after a pause.
   *
   * @throws LeaseLost if the lease is lost, LeaseReleased after `release()`.
   */
  assertHeld(): void;
  /**
   * Gives the lock back, unless the lease is lost. Idempotent, never rejects, takes at most two request
   * timeouts (5 s each by default). A lease that cannot be given back runs out by itself. With a minimum hold time the
   * lock stays taken until that is over; this call does not wait for it.
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

/** What the leases of a process share. */
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
  /** When the successful acquire was sent, in milliseconds on the monotonic clock. */
  sentAt: number;
}
