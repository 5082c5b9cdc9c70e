import type { BrokerClock } from '../../packages/local-azure/src/serviceBus/clock.ts';

export interface ManualBrokerClock extends BrokerClock {
  /** Advances time and runs the timers that fall due, in order. */
  advance(ms: number): void;
  /** Number of pending timers. */
  timers(): number;
}

/** A clock that only a test advances. It starts at the real time, because the SDK compares against that. */
export function manualBrokerClock(): ManualBrokerClock {
  let now = Date.now();
  let waiting: { at: number; action: () => void }[] = [];
  return {
    now: () => now,
    after(ms, action) {
      const timer = { at: now + ms, action };
      waiting.push(timer);
      return () => {
        waiting = waiting.filter((each) => each !== timer);
      };
    },
    timers: () => waiting.length,
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const next = waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        waiting = waiting.filter((each) => each !== next);
        now = Math.max(now, next.at);
        next.action();
      }
      now = end;
    },
  };
}
