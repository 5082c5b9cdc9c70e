/**
 * Locks that one process holds at a time, as leases that notice when they are lost and carry a fencing token. A store keeps
 * them: `@payonce/leases/blob`, one of `@payonce/lock-stores`, or one of your own (see `@payonce/leases/testing`).
 */
export { type Clock, systemClock } from './clock.ts';
export {
  type Lease,
  LeaseLost,
  LeaseReleased,
  LockHeld,
  LockStoreFailed,
  LocksClosed,
  LockTimeout,
  type Loss,
  type LostReason,
} from './lease.ts';
export {
  createSingleton,
  type Invocation,
  type LeasedHandler,
  type LeasedResult,
  lead,
  type Singleton,
  type WhenHeld,
  withLease,
} from './leasedWork.ts';
export {
  checkKey,
  checkOwner,
  jobLockKey,
  jobLockPrefix,
  shardKeys,
  workItemLockKey,
  workItemLockPrefix,
} from './lockKeys.ts';
export {
  type ForceRelease,
  type ForceReleaseOutcome,
  forceRelease,
  forgetLocks,
  type LockListing,
  listLocks,
} from './lockOperations.ts';
export {
  isPermanent,
  type LeaseOwner,
  type LinePlace,
  type LineWait,
  type ListedLock,
  type LockRecord,
  type LockRequest,
  type LockStore,
  type LockView,
  type Refusal,
  type StoreTraits,
} from './lockStore.ts';
export { createLocks, noLease } from './locks.ts';
export { type FenceFloor, nextFence } from './fencingToken.ts';
export type { LeaseChoice, Locks, LocksOptions, ProcessLocks } from './lease.ts';
export { memoized } from './memoized.ts';
export { acquireAll, type LeaseGroup, type SharedLock, sharedLock, type WaitChoice } from './sharedLock.ts';
export { type Attributes, noTelemetry, type Telemetry } from './telemetry.ts';
export { type Backoff, type LeaseTiming, leaseTiming } from './timing.ts';
