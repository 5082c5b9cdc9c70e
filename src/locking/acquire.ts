import { randomUUID } from 'node:crypto';
import { bounded } from '../platform/bounded.ts';
import { LockStoreFailed } from './errors.ts';
import type { Acquired, LeaseSetting } from './lease.ts';
import { isPermanent, type LeaseOwner, type LockView } from './lockStore.ts';
import { between, trustedUntil } from './timing.ts';

/** The lock to take, and how. */
export interface Wanted {
  key: string;
  owner: LeaseOwner;
  fenced: boolean;
  /** Sends `create` first. Ignored with a fence, where the look decides. */
  likelyNew: boolean;
  /** Attempts per request without an answer, the first included; at least 1. A raise gets at least 2. */
  tries: number;
}

/**
 * Tries once to take the lock. Returns null if another lease holds it.
 *
 * Fenced: look, acquire, raise. The look returns the version and the fence that the raise needs, and on a held
 * lock it saves an acquire that would be refused. Where only the holder can look: acquire, look, raise. Unfenced:
 * acquire only. A missing lock is created on the way; `likelyNew` creates it without checking first.
 *
 * @throws LockStoreFailed if a request got no answer in `tries` attempts, or if the lease ran out before it
 * could be used. A lease acquired by then is released.
 */
export async function attemptAcquire(
  wanted: Wanted,
  setting: Omit<LeaseSetting, 'telemetry'>,
): Promise<Acquired | null> {
  const { key, owner } = wanted;
  const { store, clock, timing, fenceFloor } = setting;
  const leaseId = randomUUID();
  const looksFirst = wanted.fenced && store.traits.looks === 'anyone';

  const [view, floor] = await Promise.all([looksFirst ? lookOrCreate() : undefined, readFloor()]);
  if (view?.held) return null;
  if (!wanted.fenced && wanted.likelyNew && (await create()).held) return null;
  try {
    const sentAt = await acquire();
    if (sentAt === null) return null;
    const fence = wanted.fenced ? await raiseFence(view ?? (await lookOrCreate())) : 0;
    if (fence === null) return null;
    if (clock.monotonic() < trustedUntil(sentAt, timing)) return { key, owner, leaseId, fence, sentAt };
    throw new LockStoreFailed(`Cannot lock "${key}"`, new Error('the lease ran out before it could be used'));
  } catch (error) {
    // An acquire whose answer was lost may have been applied, and no one else knows its lease id.
    await bounded(clock, timing.attemptMs, (signal) => store.release(key, leaseId, signal)).catch(() => {});
    throw error;
  }

  /** When the successful acquire was sent, or null if another lease holds the lock. */
  async function acquire(): Promise<number | null> {
    for (let created = false; ; created = true) {
      let sentAt = 0;
      const answer = await answered((signal) => {
        sentAt = clock.monotonic();
        return store.acquire(key, leaseId, timing.leaseMs, signal);
      });
      if (answer === 'acquired') return sentAt;
      if (answer === 'held' || created) return null;
      await create();
    }
  }

  function create(): Promise<LockView> {
    return answered((signal) => store.create(key, signal));
  }

  async function lookOrCreate(): Promise<LockView> {
    const view = await answered((signal) => store.look(key, signal));
    return view ?? (await create());
  }

  async function readFloor(): Promise<number> {
    if (!wanted.fenced || fenceFloor === undefined) return 0;
    return (await answered((signal) => fenceFloor(key, signal))) ?? 0;
  }

  /** The fence written, or null if the lease was lost first. */
  async function raiseFence(seen: LockView): Promise<number | null> {
    let view: LockView | undefined = seen;
    let failure: unknown;
    for (let left = Math.max(2, wanted.tries); left > 0 && view !== undefined; left--) {
      const { version, record } = view;
      const since = clock.now();
      const fence = nextFence(record?.fence, view.now ?? since, floor);
      try {
        const outcome = await bounded(clock, timing.attemptMs, (signal) =>
          store.raise(key, leaseId, { fence, owner, since, leaseMs: timing.leaseMs }, version, signal),
        );
        if (outcome === 'raised') return fence;
        if (outcome !== 'changed') return null;
      } catch (error) {
        // The raise may have been applied: look for the version to raise from. A skipped number does no harm.
        failure = error;
        if (isPermanent(store, error)) break;
      }
      view = await answered((signal) => store.look(key, signal));
    }
    if (view === undefined) return null;
    failure ??= new Error('its record changed on every attempt');
    throw failed(`Cannot write the fence of "${key}"`, failure);
  }

  function failed(what: string, error: unknown): LockStoreFailed {
    return new LockStoreFailed(what, error, isPermanent(store, error));
  }

  /** The answer to a request that is safe to repeat. */
  async function answered<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let sent = 1; ; sent++) {
      try {
        return await bounded(clock, timing.attemptMs, request);
      } catch (error) {
        if (sent >= wanted.tries || isPermanent(store, error)) throw failed(`Cannot lock "${key}"`, error);
        await clock.sleep(between(200, 400, setting.random));
      }
    }
  }
}

/**
 * The first number above the last fence of the lock and above `floor` that is no less than `now`, in milliseconds since the
 * epoch. So fences rise even if the store has lost its data, as long as that clock does not go back and the lock is taken
 * less than a thousand times a second.
 */
export function nextFence(last: number | undefined, now: number, floor = 0): number {
  return Math.max(1, (last ?? 0) + 1, Math.floor(now), floor + 1);
}
