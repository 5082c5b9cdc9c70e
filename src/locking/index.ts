export type { Backoff } from './backoff.ts';
export { blobLockStore } from './blobLockStore.ts';
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
export type { Lease } from './lease.ts';
export { type LockListing, listLocks } from './listLocks.ts';
export { jobLockKey, jobLockPrefix, shardKeys, workItemLockKey, workItemLockPrefix } from './lockKeys.ts';
export type { LeaseOwner, LockRecord, LockStore, LockView } from './lockStore.ts';
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
