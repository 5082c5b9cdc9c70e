/** Time as the stand-in sees it, so that locks, expiry and schedules are tested without waiting for them. */
export interface BrokerClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `action` once, `ms` milliseconds from now; the function returned calls it off. */
  after(ms: number, action: () => void): () => void;
}

export const systemBrokerClock: BrokerClock = {
  now: () => Date.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
