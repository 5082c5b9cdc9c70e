import type { Clock } from '../../packages/leases/src/clock.ts';

/** A clock that takes no rest: short sleeps are over at once, and a time budget never runs out. */
export function restlessClock(clock: Pick<Clock, 'now'>): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.now(),
    sleep: (ms) => (ms > 60_000 ? new Promise<never>(() => {}) : Promise.resolve()),
  };
}
