/**
 * `payonce/locks`: locks that one process holds at a time, as leases that notice when they are lost and carry a fencing
 * token. A store keeps them: `payonce/locks/blob` and others, or one of your own (see `payonce/testing`).
 */
export type { Backoff } from '../locking/backoff.ts';
export {
  LeaseLost,
  LeaseReleased,
  LockHeld,
  LockStoreFailed,
  LocksClosed,
  LockTimeout,
  type Loss,
  type LostReason,
} from '../locking/errors.ts';
export { type ForceRelease, type ForceReleaseOutcome, forceRelease } from '../locking/forceRelease.ts';
export { lead } from '../locking/leader.ts';
export type { FenceFloor, Lease } from '../locking/lease.ts';
export { type LockListing, listLocks } from '../locking/listLocks.ts';
export { shardKeys } from '../locking/lockKeys.ts';
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
  type ProcessLocks,
} from '../locking/locks.ts';
export { noLease } from '../locking/noLease.ts';
export {
  createSingleton,
  type Invocation,
  type LeasedHandler,
  type Singleton,
  type WhenHeld,
} from '../locking/singleton.ts';
export { type LeaseTiming, leaseTiming } from '../locking/timing.ts';
export { type LeasedResult, withLease } from '../locking/withLease.ts';
export { type Clock, systemClock } from '../platform/clock.ts';
export { type Attributes, noTelemetry, type Telemetry } from '../platform/telemetry.ts';
