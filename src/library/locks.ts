/**
 * `payonce/locks`: locks that one process holds at a time, as leases that notice when they are lost and carry a fencing
 * token. A store keeps them: `payonce/locks/blob` and others, or one of your own (see `payonce/testing`).
 */

export type { FenceFloor, Lease } from '../locking/lease.ts';
export {
  LeaseLost,
  LeaseReleased,
  LockHeld,
  LockStoreFailed,
  LocksClosed,
  LockTimeout,
  type Loss,
  type LostReason,
} from '../locking/lease.ts';
export {
  createSingleton,
  type Invocation,
  type LeasedHandler,
  type LeasedResult,
  lead,
  type Singleton,
  type WhenHeld,
  withLease,
} from '../locking/leasedWork.ts';
export { shardKeys } from '../locking/lockKeys.ts';
export {
  type ForceRelease,
  type ForceReleaseOutcome,
  forceRelease,
  type LockListing,
  listLocks,
} from '../locking/lockOperations.ts';
export type {
  LeaseOwner,
  ListedLock,
  LockRecord,
  LockStore,
  LockView,
  Refusal,
  StoreTraits,
} from '../locking/lockStore.ts';
export {
  createLocks,
  type LeaseChoice,
  type Locks,
  type LocksOptions,
  noLease,
  type ProcessLocks,
} from '../locking/locks.ts';
export type { Backoff } from '../locking/timing.ts';
export { type LeaseTiming, leaseTiming } from '../locking/timing.ts';
export { type Clock, systemClock } from '../platform/clock.ts';
export { type Attributes, noTelemetry, type Telemetry } from '../platform/telemetry.ts';
