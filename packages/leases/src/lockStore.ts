import type { Loss } from './lease.ts';

/** The holder of a lease, for people and `listLocks`. Each part has at most 256 characters (UTF-16 code units). */
export interface LeaseOwner {
  /** The process: its instance id. */
  instance: string;
  /** The function or job that acquired the lease. Also an attribute of every metric, so its values should be few. */
  job: string;
  /** One run of the job. */
  runId?: string;
}

/** Record that a holder with a fence leaves in the store, in one write. */
export interface LockRecord {
  /** Fencing token of this tenure: greater than that of every earlier tenure. */
  fence: number;
  owner: LeaseOwner;
  /** Start of the tenure (ms since the epoch). */
  since: number;
  /** Time for which the store grants the lease without a renewal (ms). */
  leaseMs: number;
}

/** A lock as the store has it now. */
export interface LockView {
  /** True while nobody else could acquire it: it is leased, or a break is still running. */
  held: boolean;
  /** Left by the last holder that took a fence; undefined if none has. */
  record: LockRecord | undefined;
  /** Changes with every write of a record, but not with lease operations (an ETag). */
  version: string;
  /** The store's clock, in milliseconds since the epoch. Undefined if it shows none: the holder's is used instead. */
  now?: number | undefined;
}

export interface ListedLock extends LockView {
  key: string;
}

/** A lock to take in one request. */
export interface LockRequest {
  /** Length of the lease (ms). */
  readonly leaseMs: number;
  /**
   * The record to write, whose fence the store counts: the first above the last one of the lock and above `floor` that is no less
   * than the milliseconds of its clock. Absent: the lease gets no fence, and the record stays as it is.
   */
  readonly record?:
    | { readonly owner: LeaseOwner; readonly since: number; readonly floor: number }
    | undefined;
  /** The place in line of a caller that waits. Absent: it does not wait, and gets a lock only if nobody does. */
  readonly place?: LinePlace | undefined;
}

/** The place of a waiter among those who wait for the same lock. */
export interface LinePlace {
  /** Name of the place; no two waiters have the same. */
  readonly ticket: string;
  /** Time for which the place is kept without another request (ms). Those behind a waiter that has crashed wait as long. */
  readonly keptMs: number;
}

/** A waiter, as the store that wakes it knows it. Disposal leaves the line; it never rejects. */
export interface LineWait extends AsyncDisposable {
  readonly ticket: string;
  /**
   * Resolves as soon as the lock may be this waiter's, or `signal` aborts. Never rejects. A waiter must also look from time to
   * time: nobody tells of a lease that has run out, or of a connection that is lost.
   */
  called(signal: AbortSignal): Promise<void>;
}

/** The store says that the lease is not ours, and why. */
export type Refusal = { kind: 'refused' } & Loss;

/** Abilities of a store, and the end of its leases. */
export interface StoreTraits {
  /** Lease lengths that it grants, in milliseconds: from `minMs` to `maxMs`, in whole multiples of `stepMs`. */
  readonly lease: { readonly minMs: number; readonly maxMs: number; readonly stepMs: number };
  /** Time for which a lease may hold the lock after its end (ms): never early, so it only delays the next holder. */
  readonly expiryLagMs: number;
  /**
   * The keeper of a lease. `id`: any process that knows its id. `connection`: only the process that acquired it can
   * renew or release it, and the end of its connection may end the lease at once.
   */
  readonly keptBy: 'id' | 'connection';
  /** Processes that can look at a lock: `anyone`, or only its `holder`. */
  readonly looks: 'anyone' | 'holder';
}

/**
 * A store of locks, as leases need it. A new store must pass the contract suite, `packages/leases/src/testing/lockStoreContract.ts`.
 *
 * What the store says about a lock is a value. After a rejection the request may or may not have been applied. No call retries; each
 * ends when its signal aborts. Disposal ends the store's own connections, and with them any lease kept by a connection.
 */
export interface LockStore extends AsyncDisposable {
  readonly traits: StoreTraits;
  /** The lock as it is now; undefined if there is none yet. Where only the holder can look, another's look is rejected. */
  look(key: string, signal: AbortSignal): Promise<LockView | undefined>;
  /** Creates the lock unless it exists. Resolves with the lock as it is afterwards. */
  create(key: string, signal: AbortSignal): Promise<LockView>;
  /**
   * Takes the lock for `leaseMs` milliseconds. The caller chooses `leaseId`, a UUID. Idempotent per
   * `leaseId`: repeated by the holder, it restarts the lease with the new length. `held`: another lease has the lock.
   * `absent`: there is no such lock, `create` it first.
   */
  acquire(
    key: string,
    leaseId: string,
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<'acquired' | 'held' | 'absent'>;
  /**
   * Takes the lock in one request: creates it if it is missing, acquires it and counts the fence. Resolves with the fence, 0
   * without one. `held`: another lease has the lock, or somebody in line is before this caller. Repeated by the holder, it
   * restarts the lease and may count a higher fence. Undefined if the store needs several requests: look, acquire, raise.
   */
  readonly take?: (
    key: string,
    leaseId: string,
    request: LockRequest,
    signal: AbortSignal,
  ) => Promise<number | 'held'>;
  /**
   * Prepares to be woken in turn. The place in line begins with the first `take` that names its ticket; without `take` all are
   * woken. Undefined if the store can wake nobody.
   */
  readonly wait?: (key: string, signal: AbortSignal) => Promise<LineWait>;
  /** Writes the record under the lease. `changed`: another version (any text not of this store is one), or no lock. */
  raise(
    key: string,
    leaseId: string,
    record: LockRecord,
    version: string,
    signal: AbortSignal,
  ): Promise<'raised' | 'changed' | Refusal>;
  /** Restarts the time of the lease, which must still be ours. `leaseMs`: the length it was acquired with. */
  renew(key: string, leaseId: string, leaseMs: number, signal: AbortSignal): Promise<'renewed' | Refusal>;
  /** `gone`: this lease no longer held the lock, or never did. That is just as good. */
  release(key: string, leaseId: string, signal: AbortSignal): Promise<'released' | 'gone'>;
  /**
   * Calls `tell`, once, as soon as the store learns without being asked that this lease is over: its connection has ended,
   * say. At once if this process has no such lease. Undefined where only a request can tell.
   */
  readonly onEnd?: (key: string, leaseId: string, tell: (why: Refusal) => void) => void;
  /** Ends any lease at once unless the lock has another version or is gone (`changed`). Undefined: the store cannot. */
  readonly break?: (
    key: string,
    version: string,
    signal: AbortSignal,
  ) => Promise<'broken' | 'notHeld' | 'changed'>;
  /** Deletes a lock of this version that nobody holds or waits for. `forgotten` also if there is none. Undefined: it cannot. */
  readonly forget?: (
    key: string,
    version: string,
    signal: AbortSignal,
  ) => Promise<'forgotten' | 'held' | 'changed'>;
  /** True for an error that remains until somebody changes a setting, such as a password. A RangeError always is one. */
  readonly isPermanent?: (error: unknown) => boolean;
  /** Every lock whose key begins with `prefix`, held or not; all locks if it is empty. Undefined if the store cannot list. */
  readonly list?: (prefix: string, signal: AbortSignal) => AsyncIterable<ListedLock>;
}

/** True if no further try can succeed. */
export function isPermanent(store: LockStore, error: unknown): boolean {
  return error instanceof RangeError || store.isPermanent?.(error) === true;
}
