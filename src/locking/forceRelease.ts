import { randomUUID } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import { nextFence } from './acquire.ts';
import type { LeaseOwner, LockRecord, LockStore } from './lockStore.ts';

export interface ForceRelease {
  key: string;
  /** The instance that the caller believes to hold it; another holder's lease is left alone. */
  expectedOwner: string;
  /** Who asks, and why: they stand in the lock's record until the next holder. */
  actor: string;
  reason: string;
}

export type ForceReleaseOutcome =
  /** The former holder learns at its next renewal; the store of its writes refuses it from the first one with `fence` on. */
  | { kind: 'released'; previous: LockRecord; fence: number }
  | { kind: 'notFound' }
  | { kind: 'notHeld' }
  /** Held by another, or taken by another in the meantime; `owner` is undefined when it left no name. */
  | { kind: 'otherOwner'; owner: LeaseOwner | undefined };

/** Long enough to raise the fence, and the shortest that the blob service grants. */
const leaseMs = 15_000;

/**
 * Takes a lock from a holder that will not or cannot let go: break, acquire, raise the fence, release. The raised fence is
 * what makes it safe, since a broken holder may still be at work until its next renewal. Writing the audit record is the
 * caller's part.
 */
export async function forceRelease(
  store: LockStore,
  clock: Clock,
  { key, expectedOwner, actor, reason }: ForceRelease,
  signal: AbortSignal = AbortSignal.timeout(20_000),
): Promise<ForceReleaseOutcome> {
  const view = await store.look(key, signal);
  if (view === undefined) return { kind: 'notFound' };
  if (!view.held) return { kind: 'notHeld' };
  const previous = view.record;
  if (previous?.owner.instance !== expectedOwner) return { kind: 'otherOwner', owner: previous?.owner };

  // Only while the record is the one just read: a new holder writes its own.
  const broken = await store.break(key, view.version, signal);
  if (broken === 'notHeld') return { kind: 'notHeld' };
  if (broken === 'changed') return nowOwned(store, key, signal);

  const leaseId = randomUUID();
  const acquired = await store.acquire(key, leaseId, leaseMs, signal);
  if (acquired !== 'acquired') return nowOwned(store, key, signal);
  try {
    const now = clock.now();
    const fence = nextFence(previous.fence, now);
    const record = {
      fence,
      owner: { instance: actor, job: `force-release: ${reason}`.slice(0, 256) },
      since: now,
      leaseMs,
    };
    const raised = await store.raise(key, leaseId, record, view.version, signal);
    return raised === 'raised' ? { kind: 'released', previous, fence } : await nowOwned(store, key, signal);
  } finally {
    await store.release(key, leaseId, signal);
  }
}

async function nowOwned(store: LockStore, key: string, signal: AbortSignal): Promise<ForceReleaseOutcome> {
  const view = await store.look(key, signal);
  return view === undefined ? { kind: 'notFound' } : { kind: 'otherOwner', owner: view.record?.owner };
}
