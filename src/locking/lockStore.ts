import type { Loss } from './errors.ts';

/** Who holds a lease: readable by people and by `listLocks`. Each part at most 256 characters. */
export interface LeaseOwner {
  /** The process: an instance id. */
  instance: string;
  /** The function or job that asked. */
  job: string;
  runId?: string;
}

/** What a holder leaves in the store, in one write. */
export interface LockRecord {
  /** Number of this tenure: greater than that of every tenure before it. */
  fence: number;
  owner: LeaseOwner;
  /** Milliseconds since the epoch at which the tenure began. */
  since: number;
  leaseMs: number;
}

export interface LockView {
  /** True while nobody could acquire it: leased, or a break still running. */
  held: boolean;
  /** Of the last holder that took a fence; undefined when none has. */
  record: LockRecord | undefined;
  /** Changes with every write of a record, not with lease operations (an ETag). */
  version: string;
}

export interface ListedLock extends LockView {
  key: string;
}

/** The store says that the lease is not ours: which of the ways. */
export type Refusal = { kind: 'refused' } & Loss;

/**
 * What a lease needs of a store. A contract suite (`test/locking/contract`) says how one behaves.
 *
 * Every answer that the store gives about a lock is a value. A rejected promise means that nothing was learnt: the request
 * may or may not have been applied. No call retries by itself; each ends when its signal aborts.
 */
export interface LockStore {
  /** Undefined when there is no such lock yet. */
  look(key: string, signal: AbortSignal): Promise<LockView | undefined>;
  /** Makes the lock unless it exists; the answer is what is there afterwards. */
  create(key: string, signal: AbortSignal): Promise<LockView>;
  /** Idempotent by `leaseId`: repeated by its holder it extends the lease. `absent`: `create` it first. */
  acquire(
    key: string,
    leaseId: string,
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<'acquired' | 'held' | 'absent'>;
  /** Writes the record under the lease if the lock still has this version; `changed` if it has another or is gone. */
  raise(
    key: string,
    leaseId: string,
    record: LockRecord,
    version: string,
    signal: AbortSignal,
  ): Promise<'raised' | 'changed' | Refusal>;
  renew(key: string, leaseId: string, signal: AbortSignal): Promise<'renewed' | Refusal>;
  /** `gone`: this lease did not hold it (any more), which is as good. */
  release(key: string, leaseId: string, signal: AbortSignal): Promise<'released' | 'gone'>;
  /** Ends whatever lease there is, at once, if the lock still has this version; `changed` if it has another or is gone. */
  break(key: string, version: string, signal: AbortSignal): Promise<'broken' | 'notHeld' | 'changed'>;
  /** All locks, held or not; keys that begin with `prefix` only, where given. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<ListedLock>;
}
