import type { Clock } from '../platform/clock.ts';

/** Calls that may always be under way at the same time. */
const fewestInFlight = 64;

/**
 * Calls under way may grow to this multiple of what the pace and the usual latency explain (Little's law). The pace is that
 * of all instances: while this one uses a stretch that it has reserved, it has all of it.
 */
const inFlightFactor = 4;

/** Weight of the newest call in the usual latency, and of the newest second in the rate. */
const weights = { latency: 0.01, rate: 0.3 };

/** After this long without a call, in milliseconds, the rate says nothing any more. */
const forgottenMs = 5_000;

/** The calls of one process: how many are under way, how many begin in a second, and how long they usually take. */
export interface Flow {
  /**
   * Whether one more call may begin at this pace (calls per second). The bound keeps calls from piling up at a provider
   * that slows down.
   */
  hasRoom(pace: number): boolean;
  /** A call begins. The result is called when it ends; `answered` if its time says something about the provider. */
  begin(): (answered: boolean) => void;
  /** Calls per second lately; undefined if there were none, or none for long enough. */
  rate(): number | undefined;
}

export function createFlow(clock: Clock): Flow {
  let inFlight = 0;
  let usualMs: number | undefined;
  let rate: number | undefined;
  let second = { from: clock.monotonic(), calls: 0 };
  let lastCall = clock.monotonic();

  return {
    hasRoom: (pace) => inFlight < mostInFlight(pace),
    begin() {
      const began = clock.monotonic();
      measure(began);
      lastCall = began;
      second.calls++;
      inFlight++;
      return (answered) => {
        inFlight--;
        const ms = clock.monotonic() - began;
        if (answered) usualMs = usualMs === undefined ? ms : mix(usualMs, ms, weights.latency);
      };
    },
    rate() {
      measure(clock.monotonic());
      return rate;
    },
  };

  function mostInFlight(pace: number): number {
    if (usualMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(fewestInFlight, (inFlightFactor * pace * usualMs) / 1000);
  }

  function measure(now: number): void {
    if (now - lastCall > forgottenMs) {
      rate = undefined;
      second = { from: now, calls: 0 };
    }
    const seconds = (now - second.from) / 1000;
    if (seconds < 1) return;
    const newest = second.calls / seconds;
    rate = rate === undefined ? newest : mix(rate, newest, weights.rate);
    second = { from: now, calls: 0 };
  }
}

/** The usual value, moved towards the newest by `weight` (0 to 1). */
export function mix(usual: number, newest: number, weight: number): number {
  return usual * (1 - weight) + newest * weight;
}
