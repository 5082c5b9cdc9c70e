import { type Lease, type LeaseChoice, type Locks, LockStoreFailed, LockTimeout } from './lease.ts';
import { shardKeys } from './lockKeys.ts';
import type { LeaseOwner } from './lockStore.ts';

/** Several leases as one: lost as soon as one of them is. */
export interface LeaseGroup extends Lease {
  /** In the order in which they were taken. */
  readonly leases: readonly Lease[];
  /** The highest of theirs. It rises from one holder of the same keys to the next. */
  readonly fence: number;
}

/** Options of a call that may wait. */
export type WaitChoice = LeaseChoice & {
  /** Longest wait (ms); 0 tries once. */
  waitMs: number;
  /** Ends the wait. */
  signal?: AbortSignal;
};

/**
 * Takes all of these locks or none, in the order of their names: no two wait in a circle. @throws RangeError for no keys, and
 * whatever `Locks.acquire` throws; those acquired by then are released.
 */
export async function acquireAll(
  locks: Locks,
  keys: readonly string[],
  owner: LeaseOwner | undefined,
  { waitMs, ...choice }: WaitChoice,
): Promise<LeaseGroup> {
  if (keys.length === 0) throw new RangeError('acquireAll takes at least one key');
  const startedAt = performance.now();
  const left = () => Math.max(0, waitMs - (performance.now() - startedAt));
  const leases: Lease[] = [];
  try {
    for (const key of [...new Set(keys)].toSorted()) {
      leases.push(await locks.acquire(key, owner, { ...choice, waitMs: left() }));
    }
    return grouped(leases);
  } catch (error) {
    await releaseAll(leases);
    throw error;
  }
}

/** Releases in reverse order: the next to acquire the first lock finds the others free. */
async function releaseAll(leases: readonly Lease[]): Promise<void> {
  for (const lease of leases.toReversed()) await lease.release();
}

function grouped(leases: readonly Lease[]): LeaseGroup {
  const [first] = leases;
  if (first === undefined) throw new RangeError('a group has at least one lease');
  return {
    leases,
    key: leases.map(({ key }) => key).join(', '),
    owner: first.owner,
    fence: Math.max(...leases.map(({ fence }) => fence)),
    signal: AbortSignal.any(leases.map(({ signal }) => signal)),
    get lost() {
      return leases.find((lease) => lease.lost !== undefined)?.lost;
    },
    get remainingMs() {
      return Math.min(...leases.map(({ remainingMs }) => remainingMs));
    },
    assertHeld() {
      for (const lease of leases) lease.assertHeld();
    },
    release: () => releaseAll(leases),
    [Symbol.asyncDispose]: () => releaseAll(leases),
  };
}

/** A lock of `count` permits: who takes one shares it, who takes all has it alone (readers and a writer). */
export interface SharedLock {
  /** Takes a permit. Resolves with null if there is none. Its fence rises among the holders of this permit (`lease.key`) only. */
  tryShare(owner?: LeaseOwner, choice?: LeaseChoice): Promise<Lease | null>;
  /** Waits for a permit. @throws as `Locks.acquire` does. */
  share(owner: LeaseOwner | undefined, choice: WaitChoice): Promise<Lease>;
  /** Takes all permits one by one and keeps them while it waits, so readers keep no writer out. Throws as `share` does. */
  exclude(owner: LeaseOwner | undefined, choice: WaitChoice): Promise<LeaseGroup>;
}

/** Time that a waiter spends on one permit before it looks at the others again (ms). */
const onePermitMs = 250;

/**
 * A lock that up to `count` hold at once: each permit is a lock of its own, `{key}/0`, `{key}/1` and so on, with its costs. All
 * who use the key must give the same `count`. @throws RangeError unless `count` is a whole number from 1 to 1,000
 */
export function sharedLock(locks: Locks, key: string, count: number): SharedLock {
  if (!(Number.isInteger(count) && count >= 1 && count <= 1000)) {
    throw new RangeError(`A shared lock has 1 to 1,000 permits, not ${count}`);
  }
  const permits = shardKeys(key, count);

  /** Begins anywhere, so that few ask for a permit that another has. */
  async function tryShare(owner?: LeaseOwner, choice?: LeaseChoice): Promise<Lease | null> {
    const first = Math.floor(Math.random() * count);
    for (const permit of [...permits.slice(first), ...permits.slice(0, first)]) {
      const lease = await locks.tryAcquire(permit, owner, choice);
      if (lease !== null) return lease;
    }
    return null;
  }

  return {
    tryShare,

    async share(owner, { waitMs, signal, ...choice }) {
      const until = performance.now() + waitMs;
      for (;;) {
        signal?.throwIfAborted();
        // An outage ends no wait: `acquire` goes through it, or says that the time is over.
        const lease = await tryShare(owner, choice).catch(nullInOutage);
        if (lease !== null) return lease;
        const left = Math.max(0, until - performance.now());
        const permit = permits[Math.floor(Math.random() * count)] ?? key;
        const wait = { ...choice, waitMs: Math.min(left, onePermitMs), ...(signal && { signal }) };
        try {
          return await locks.acquire(permit, owner, wait);
        } catch (error) {
          if (!(error instanceof LockTimeout)) throw error;
          if (left <= onePermitMs) throw new LockTimeout(key, waitMs, error.cause);
        }
      }
    },

    exclude: (owner, choice) => acquireAll(locks, permits, owner, choice),
  };
}

function nullInOutage(error: unknown): null {
  if (error instanceof LockStoreFailed && !error.permanent) return null;
  throw error;
}
