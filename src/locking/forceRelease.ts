import type { Clock } from '../platform/clock.ts';
import { metric, noTelemetry, type Telemetry } from '../platform/telemetry.ts';
import { attemptAcquire } from './acquire.ts';
import { bounded } from './bounded.ts';
import { longestOwnerPart } from './lockRecord.ts';
import type { LeaseOwner, LockRecord, LockStore } from './lockStore.ts';
import { leaseTiming } from './timing.ts';

export interface ForceRelease {
  key: string;
  /** The instance that the caller believes to hold it; another holder's lease is left alone. */
  expectedOwner: string;
  /** Who asks, and why: they stand in the lock's record until the next holder, 256 characters of each. */
  actor: string;
  reason: string;
}

export type ForceReleaseOutcome =
  /** The former holder learns at its next renewal; the store of its writes refuses it from the first one with `fence` on. */
  | { kind: 'released'; previous: LockRecord; fence: number }
  | { kind: 'notFound' }
  /** Free, and the expected owner was not its last holder. */
  | { kind: 'notHeld' }
  /** Held by another, or taken by another in the meantime; `owner` is undefined when it left no name. */
  | { kind: 'otherOwner'; owner: LeaseOwner | undefined };

/** Long enough to raise the fence, and the shortest that the blob service grants. */
const timing = leaseTiming(15);

/**
 * Takes a lock from a holder that will not or cannot let go: break, acquire, raise the fence, release. The raised fence is
 * what makes it safe, since a broken holder may still be at work until its next renewal. So a lock that is free but was last
 * held by the expected owner gets a higher fence too: a call that ended between the break and the fence is finished by
 * repeating it. Writing the audit record is the caller's part.
 *
 * @throws RangeError when actor or reason is blank; then nothing was done.
 * Rejects with the store's error when its answers are lost: the lock may be broken and its fence not raised. Repeat it.
 */
export async function forceRelease(
  store: LockStore,
  clock: Clock,
  { key, expectedOwner, actor, reason }: ForceRelease,
  signal: AbortSignal = AbortSignal.timeout(20_000),
  telemetry: Telemetry = noTelemetry,
): Promise<ForceReleaseOutcome> {
  if (actor.trim() === '' || reason.trim() === '') throw new RangeError('Who asks, and why, must be said');
  const owner = { instance: cut(actor), job: cut(`force-release: ${reason}`) };

  const view = await store.look(key, signal);
  if (view === undefined) return { kind: 'notFound' };
  const previous = view.record;
  if (previous?.owner.instance !== expectedOwner) {
    return view.held ? { kind: 'otherOwner', owner: previous?.owner } : { kind: 'notHeld' };
  }
  // Only while the record is the one just read: a new holder writes its own.
  const broken = view.held ? await store.break(key, view.version, signal) : 'notHeld';
  if (broken === 'changed') return nowOwned(store, key, signal);

  const wanted = { key, owner, fenced: true, likelyNew: false, tries: 3 };
  const taken = await attemptAcquire(wanted, { store, clock, timing, random: Math.random });
  if (taken === null) return nowOwned(store, key, signal);
  try {
    await bounded(clock, timing.attemptMs, (each) => store.release(key, taken.leaseId, each));
  } catch {
    // The fence is raised, which is what was asked for; the lease runs out by itself.
    telemetry.count(metric.leaseReleaseFailed, { job: 'force-release' });
  }
  return { kind: 'released', previous, fence: taken.fence };
}

async function nowOwned(store: LockStore, key: string, signal: AbortSignal): Promise<ForceReleaseOutcome> {
  const view = await store.look(key, signal);
  return view === undefined ? { kind: 'notFound' } : { kind: 'otherOwner', owner: view.record?.owner };
}

function cut(text: string): string {
  return text.slice(0, longestOwnerPart);
}
