import { randomUUID } from 'node:crypto';
import { bounded } from './bounded.ts';
import { LockStoreFailed } from './errors.ts';
import type { Acquired, LeaseSetting } from './lease.ts';
import type { LeaseOwner, LockView } from './lockStore.ts';
import { between, trustedUntil } from './timing.ts';

export interface Wanted {
  key: string;
  owner: LeaseOwner;
  fenced: boolean;
  /** Create it before anything else; of no effect with a fence, where the look decides. */
  likelyNew: boolean;
  /** How often a request without an answer is sent in all; at least 1. */
  tries: number;
}

/**
 * Tries once to get the lock; null when it is held elsewhere.
 *
 * With a fence: look, acquire, raise. The look brings the ETag and the fence that the raise needs, and spares a refused
 * acquire (409) when the lock is held. Without one: acquire. A lock that is not there yet is created first; one that is
 * likely new without asking whether it is there.
 *
 * @throws LockStoreFailed when a request had no answer `tries` times. What was acquired until then is given back.
 */
export async function attemptAcquire(
  wanted: Wanted,
  setting: Omit<LeaseSetting, 'telemetry'>,
): Promise<Acquired | null> {
  const { key, owner } = wanted;
  const { store, clock, timing } = setting;
  const leaseId = randomUUID();

  const view = wanted.fenced ? await lookOrCreate() : undefined;
  if (view?.held) return null;
  if (!wanted.fenced && wanted.likelyNew && (await create()).held) return null;
  try {
    const sentAt = await acquire();
    if (sentAt === null) return null;
    const fence = view === undefined ? 0 : await raiseFence(view);
    if (fence === null) return null;
    if (clock.monotonic() < trustedUntil(sentAt, timing)) return { key, owner, leaseId, fence, sentAt };
    throw new LockStoreFailed(
      `Cannot lock "${key}"`,
      new Error('its lease was over before it could be used'),
    );
  } catch (error) {
    // An acquire without an answer may have been applied: nobody would know of that lease.
    await bounded(clock, timing.attemptMs, (signal) => store.release(key, leaseId, signal)).catch(() => {});
    throw error;
  }

  /** When the acquire that succeeded was sent; null when the lock is held elsewhere. */
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

  /** The fence written; null when the lease was lost before. */
  async function raiseFence(seen: LockView): Promise<number | null> {
    let view: LockView | undefined = seen;
    let failure: unknown = new Error('its record changes with every try');
    for (let left = Math.max(2, wanted.tries); left > 0 && view !== undefined; left--) {
      const { version, record } = view;
      const since = clock.now();
      const fence = nextFence(record?.fence, since);
      try {
        const outcome = await bounded(clock, timing.attemptMs, (signal) =>
          store.raise(key, leaseId, { fence, owner, since, leaseMs: timing.leaseMs }, version, signal),
        );
        if (outcome === 'raised') return fence;
        if (outcome !== 'changed') return null;
      } catch (error) {
        // It may have been applied: a look tells the version to raise from. A number left out does no harm.
        failure = error;
      }
      view = await answered((signal) => store.look(key, signal));
    }
    if (view === undefined) return null;
    throw new LockStoreFailed(`Cannot write the fence of "${key}"`, failure);
  }

  /** The answer to a request that may safely be sent again. */
  async function answered<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let sent = 1; ; sent++) {
      try {
        return await bounded(clock, timing.attemptMs, request);
      } catch (error) {
        if (sent >= wanted.tries) throw new LockStoreFailed(`Cannot lock "${key}"`, error);
        await clock.sleep(between(200, 400, setting.random));
      }
    }
  }
}

/**
 * One more than the last. A lock without a fence starts at the time of day in seconds: should someone have deleted it, the
 * numbers still go up, as long as it was taken less than once a second, and nobody is fenced out by a past that is gone.
 */
export function nextFence(last: number | undefined, now: number): number {
  return last === undefined ? Math.max(1, Math.floor(now / 1000)) : last + 1;
}
