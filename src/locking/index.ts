export type { Backoff } from './backoff.ts';
export {
  LeaseLost,
  LeaseReleased,
  LockHeld,
  LockStoreFailed,
  LocksClosed,
  LockTimeout,
  type Loss,
  type LostReason,
} from './errors.ts';
export { type Fence, FencedOut } from './fence.ts';
export { type ForceRelease, type ForceReleaseOutcome, forceRelease } from './forceRelease.ts';
export { lead } from './leader.ts';
export type { FenceFloor, Lease } from './lease.ts';
export { type LockListing, listLocks } from './listLocks.ts';
export { jobLockKey, jobLockPrefix, shardKeys, workItemLockKey, workItemLockPrefix } from './lockKeys.ts';
export type {
  LeaseOwner,
  ListedLock,
  LockRecord,
  LockStore,
  LockView,
  Refusal,
  StoreTraits,
} from './lockStore.ts';
export { createLocks, type LeaseChoice, type Locks, type LocksOptions, type ProcessLocks } from './locks.ts';
export { noLease } from './noLease.ts';
export {
  createSingleton,
  type Invocation,
  type LeasedHandler,
  type Singleton,
  type WhenHeld,
} from './singleton.ts';
export { type LeaseTiming, leaseTiming } from './timing.ts';
export { type LeasedResult, withLease } from './withLease.ts';
