export { type Fence, FencedOut } from './fence.ts';
export {
  type FenceFloor,
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
export { jobLockKey, jobLockPrefix, shardKeys, workItemLockKey, workItemLockPrefix } from './lockKeys.ts';
export {
  type ForceRelease,
  type ForceReleaseOutcome,
  forceRelease,
  type LockListing,
  listLocks,
} from './lockOperations.ts';
export type {
  LeaseOwner,
  ListedLock,
  LockRecord,
  LockStore,
  LockView,
  Refusal,
  StoreTraits,
} from './lockStore.ts';
export {
  createLocks,
  type LeaseChoice,
  type Locks,
  type LocksOptions,
  noLease,
  type ProcessLocks,
} from './locks.ts';
export { type Backoff, type LeaseTiming, leaseTiming } from './timing.ts';
