import { bounded, type Clock, systemClock } from './clock.ts';
import type { FenceFloor } from './fencingToken.ts';
import { LockStoreFailed } from './lease.ts';
import { longestOwnerPart } from './lockKeys.ts';
import { attemptAcquire } from './locks.ts';
import type { LeaseOwner, LockRecord, LockStore } from './lockStore.ts';
import { noTelemetry, partMetric, type Telemetry } from './telemetry.ts';
import { nearestLease } from './timing.ts';

export interface ForceRelease {
  key: string;
  /** The instance believed to hold the lock (`LeaseOwner.instance`). The lease of any other is left alone. */
  expectedOwner: string;
  /** Actor and reason, not blank. Both stay in the lock's record, cut to 256 characters each, until the next holder. */
  actor: string;
  reason: string;
}

export type ForceReleaseOutcome =
  /**
   * The former holder learns of it at its next renewal. A store that checks fences refuses its writes as soon
   * as it has seen `fence`. If someone who waited for the lock has it now, `fence` is theirs.
   */
  | { kind: 'released'; previous: LockRecord; fence: number }
  /** There is no such lock. */
  | { kind: 'notFound' }
  /** Free, and the expected owner was not its last holder, who is `owner` if they left a name. */
  | { kind: 'notHeld'; owner: LeaseOwner | undefined }
  /** Held by someone else, or taken by someone else meanwhile. `owner` is undefined if they left no name. */
  | { kind: 'otherOwner'; owner: LeaseOwner | undefined }
  /** The store cannot take a lock away. The lease ends when its holder stops renewing it. */
  | { kind: 'unsupported' };

/** Length of the lease that is acquired meanwhile, in milliseconds: enough time to raise the fence. */
const ownLeaseMs = 15_000;

/**
 * Takes a lock away from a holder that will not or cannot let go: break, acquire, raise the fence, release.
 *
 * The raised fence makes this safe: the former holder may work until its next renewal. A free lock gets a higher fence too if the
 * expected owner held it last, so a call that failed halfway is finished by calling again. The caller writes the audit record.
 *
 * `signal` limits the look and the break (default: 20 s); the other requests have their own limits. A lock that could not be
 * released at the end is counted in `telemetry` and runs out by itself, within 15 s on most stores.
 *
 * @throws RangeError if `actor` or `reason` is blank. Nothing has been done.
 * @throws LockStoreFailed or the store's error if an answer is lost, or somebody else takes the lock meanwhile without a fence. The lease may be broken without a raised fence: call again.
 */
export async function forceRelease(
  store: LockStore,
  { key, expectedOwner, actor, reason }: ForceRelease,
  {
    signal = AbortSignal.timeout(20_000),
    clock = systemClock,
    telemetry = noTelemetry,
    fenceFloor,
  }: { signal?: AbortSignal; clock?: Clock; telemetry?: Telemetry; fenceFloor?: FenceFloor } = {},
): Promise<ForceReleaseOutcome> {
  if (actor.trim() === '' || reason.trim() === '') throw new RangeError('actor and reason must not be blank');
  const owner = { instance: cut(actor), job: cut(`force-release: ${reason}`) };
  if (store.break === undefined) return { kind: 'unsupported' };

  const view = await store.look(key, signal);
  if (view === undefined) return { kind: 'notFound' };
  const previous = view.record;
  if (previous?.owner.instance !== expectedOwner) {
    return { kind: view.held ? 'otherOwner' : 'notHeld', owner: previous?.owner };
  }
  // Only if the record is still the one just read: a new holder writes its own.
  const broken = view.held ? await store.break(key, view.version, signal) : 'notHeld';
  if (broken === 'changed') return nowOwned(store, key, signal);

  const timing = nearestLease(ownLeaseMs, store.traits);
  const wanted = { key, owner, fenced: true, tries: 3 };
  // `take` lets those go first who wait in line.
  const { take, ...pastTheLine } = store;
  const setting = {
    store: take === undefined ? store : pastTheLine,
    clock,
    timing,
    random: Math.random,
    fenceFloor,
  };
  const taken = await attemptAcquire(wanted, setting);
  if (taken === null) {
    const fence = broken === 'broken' ? await fenceAfter(previous, { store, key, signal, clock }) : undefined;
    return fence === undefined
      ? nowOwned(store, key, signal, previous)
      : { kind: 'released', previous, fence };
  }
  try {
    await bounded(clock, timing.attemptMs, (each) => store.release(key, taken.leaseId, each));
  } catch {
    // The fence is raised, and that is what counts. The lease runs out by itself.
    telemetry.count(partMetric.leaseReleaseFailed, { job: 'force-release' });
  }
  return { kind: 'released', previous, fence: taken.fence };
}

/** Looks for the new holder's fence, and the pause between two of them (ms). */
const looks = 10;
const lookAgainMs = 200;

/**
 * The fence of someone who acquired the lock right after it was broken, as waiters do. It is written a moment after the lease
 * is taken; undefined if none comes, as from a holder without a fence.
 */
async function fenceAfter(
  previous: LockRecord,
  { store, key, signal, clock }: { store: LockStore; key: string; signal: AbortSignal; clock: Clock },
): Promise<number | undefined> {
  for (let left = looks; left > 0; left--) {
    const view = await store.look(key, signal);
    const fence = view?.record?.fence ?? 0;
    if (fence > previous.fence) return fence;
    await clock.sleep(lookAgainMs, signal);
  }
  return undefined;
}

async function nowOwned(
  store: LockStore,
  key: string,
  signal: AbortSignal,
  previous?: LockRecord,
): Promise<ForceReleaseOutcome> {
  const view = await store.look(key, signal);
  if (previous !== undefined && view?.record?.fence === previous.fence) {
    const why = new Error('somebody else has the lock, and has written no fence yet');
    throw new LockStoreFailed(`Cannot raise the fence of "${key}"`, why);
  }
  return view === undefined ? { kind: 'notFound' } : { kind: 'otherOwner', owner: view.record?.owner };
}

function cut(text: string): string {
  return text.slice(0, longestOwnerPart);
}

/**
 * Deletes locks under `prefix` that nobody holds or has taken with a fence for `unusedMs`. Fences go on to rise with the clock.
 * Resolves with their number; undefined if the store cannot. `signal`: default 60 s. Rejects with the store's error.
 */
export async function forgetLocks(
  store: LockStore,
  {
    prefix,
    unusedMs,
    signal = AbortSignal.timeout(60_000),
    clock = systemClock,
  }: { prefix: string; unusedMs: number; signal?: AbortSignal; clock?: Clock },
): Promise<number | undefined> {
  if (store.list === undefined || store.forget === undefined) return undefined;
  let gone = 0;
  for await (const { key, held, record, version, now = clock.now() } of store.list(prefix, signal)) {
    if (held || (record !== undefined && now - record.since < unusedMs)) continue;
    if ((await store.forget(key, version, signal)) === 'forgotten') gone++;
  }
  return gone;
}

/** One lock, as operators see it. Times are ISO 8601 in UTC. */
export interface LockListing {
  key: string;
  held: boolean;
  /** The last holder that took a fence: only fenced leases record their owner. Absent: there was none. */
  owner?: LeaseOwner;
  /** Time at which `owner` acquired it. */
  acquiredAt?: string;
  /** The latest time at which the lease can end if its holder has just died. Absent: free, or nobody recorded a lease time. */
  expiry?: string;
  /** Fencing token of `owner`; 0 without one. */
  fence: number;
}

/** Lists every lock whose key begins with `prefix`, within 30 s or until `signal`. Undefined: the store cannot. */
export async function listLocks(
  store: LockStore,
  {
    prefix = '',
    signal = AbortSignal.timeout(30_000),
    clock = systemClock,
  }: { prefix?: string; signal?: AbortSignal; clock?: Clock } = {},
): Promise<LockListing[] | undefined> {
  if (store.list === undefined) return undefined;
  const listings: LockListing[] = [];
  for await (const { key, held, record } of store.list(prefix, signal)) {
    const holder = record && {
      owner: record.owner,
      acquiredAt: new Date(record.since).toISOString(),
      ...(held ? { expiry: new Date(clock.now() + record.leaseMs).toISOString() } : {}),
    };
    listings.push({ key, held, ...holder, fence: record?.fence ?? 0 });
  }
  return listings;
}
