export interface TokenBucket {
  /** Takes a token. False if none is left: the call exceeds the rate. */
  take: () => boolean;
}

/** In thousandths of a token, so that whole milliseconds at a whole rate add up exactly. */
const token = 1000;

/**
 * A bucket one second deep: it starts with `rate` tokens (at least one), holds no more, and gains `rate` a
 * second. In any t seconds it yields at most rate × t + depth tokens.
 */
export function createTokenBucket(rate: number, monotonic: () => number): TokenBucket {
  const depth = Math.max(rate, 1) * token;
  let level = depth;
  let filledAt = monotonic();
  return {
    take() {
      const now = monotonic();
      level = Math.min(depth, level + (now - filledAt) * rate);
      filledAt = now;
      if (level < token) return false;
      level -= token;
      return true;
    },
  };
}
