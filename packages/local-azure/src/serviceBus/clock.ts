/** The time source. Replaceable, so that tests of locks, expiry and schedules need not wait. */
export interface BrokerClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `action` once, `ms` milliseconds from now. Returns a function that cancels it. */
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
