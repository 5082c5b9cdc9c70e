/** A random source that repeats for the same seed. */
export interface SeededRandom {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** An integer, both ends inclusive. */
  between(min: number, max: number): number;
  pick<T>(from: readonly T[]): T;
  /** The milliseconds until the next event of a Poisson process with a mean gap of `meanMs`. */
  gap(meanMs: number): number;
}

/** Pseudorandom numbers (mulberry32). */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    between,
    pick(from) {
      const picked = from[between(0, from.length - 1)];
      if (picked === undefined) throw new RangeError('nothing to pick from');
      return picked;
    },
    gap: (meanMs) => -Math.log(1 - next()) * meanMs,
  };
}
