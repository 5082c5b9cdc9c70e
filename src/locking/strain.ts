/**
 * Whether the store of the leases is under strain. A store that is saturated answers late before it answers too late. Work
 * that loads the same account can ease off then, while leases are still renewed in time.
 */
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import type { LockStore } from './lockStore.ts';
import type { LeaseTiming } from './timing.ts';

/**
 * True while requests to the store take long: one took more than a tenth of a lease or has waited for that long, or two were
 * refused an answer. A lease length after the last of them it is false again.
 */
export type Strained = () => boolean;

/** What counts. `failed`: no answer, such as "server busy" or a broken connection. One alone may happen on any day. */
type Trouble = 'slow' | 'failed';

const weights: Readonly<Record<Trouble, number>> = { slow: 2, failed: 1 };
const strain = 2;

/** A store that is watched, and what is seen. Each request that adds to the strain is counted. */
export function watchStrain(
  store: LockStore,
  { clock, telemetry, timing }: { clock: Clock; telemetry: Telemetry; timing: LeaseTiming },
): { store: LockStore; strained: Strained } {
  const slowMs = timing.leaseMs / 10;
  const forgetMs = timing.leaseMs;
  const underWay = new Set<{ sentAt: number }>();
  let troubles: { at: number; weight: number }[] = [];

  const strained = () => {
    const now = clock.monotonic();
    for (const { sentAt } of underWay) if (now - sentAt > slowMs) return true;
    return weightSince(now - forgetMs) >= strain;
  };

  function weightSince(from: number): number {
    troubles = troubles.filter(({ at }) => at > from);
    return troubles.reduce((sum, { weight }) => sum + weight, 0);
  }

  function note(trouble: Trouble): void {
    const at = clock.monotonic();
    troubles.push({ at, weight: weights[trouble] });
    if (weightSince(at - forgetMs) >= strain) telemetry.count(metric.leaseStrained);
  }

  async function timed<T>(request: () => Promise<T>): Promise<T> {
    const sent = { sentAt: clock.monotonic() };
    const slow = () => clock.monotonic() - sent.sentAt > slowMs;
    underWay.add(sent);
    try {
      const answer = await request();
      if (slow()) note('slow');
      return answer;
    } catch (error) {
      note(slow() ? 'slow' : 'failed');
      throw error;
    } finally {
      underWay.delete(sent);
    }
  }

  const watched: LockStore = {
    traits: store.traits,
    look: (key, signal) => timed(() => store.look(key, signal)),
    create: (key, signal) => timed(() => store.create(key, signal)),
    acquire: (key, leaseId, leaseMs, signal) => timed(() => store.acquire(key, leaseId, leaseMs, signal)),
    raise: (key, leaseId, record, version, signal) =>
      timed(() => store.raise(key, leaseId, record, version, signal)),
    renew: (key, leaseId, leaseMs, signal) => timed(() => store.renew(key, leaseId, leaseMs, signal)),
    release: (key, leaseId, signal) => timed(() => store.release(key, leaseId, signal)),
    ...(store.onEnd && { onEnd: (...lease) => store.onEnd?.(...lease) }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  return { store: watched, strained };
}
