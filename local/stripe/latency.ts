/** A call's time before and after its work (ms). */
export interface CallTime {
  beforeMs: number;
  /** From the work to the answer. */
  afterMs: number;
}

/** Draws the time of the next call. */
export type Latency = () => CallTime;

/**
 * Standard deviation of the logarithm of the time. 5 % of the calls take more than 1.64 times the median, 1 %
 * more than twice.
 */
const spread = 0.3;
const none: CallTime = { beforeMs: 0, afterMs: 0 };

/** Lognormal times with the given median. The work falls on a point drawn evenly from the whole time. */
export function createLatency(medianMs: number, random: () => number): Latency {
  if (medianMs === 0) return () => none;
  return () => {
    const callMs = medianMs * Math.exp(spread * standardNormal(random));
    const beforeMs = callMs * random();
    return { beforeMs, afterMs: callMs - beforeMs };
  };
}

/** Box and Muller's method (https://en.wikipedia.org/wiki/Box%E2%80%93Muller_transform). */
function standardNormal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}
