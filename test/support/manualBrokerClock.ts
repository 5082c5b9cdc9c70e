import type { BrokerClock } from '../../local/serviceBus/clock.ts';

export interface ManualBrokerClock extends BrokerClock {
  /** Moves time on and runs what falls due, in order. */
  advance(ms: number): void;
  /** How many timers are set. */
  timers(): number;
}

/** A clock that stands still until a test moves it. It begins at the real time, which the SDK compares with. */
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
