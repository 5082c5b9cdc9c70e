/** Milliseconds to wait before retry number `attempt` (1 = the first retry): doubles from `base` up to `cap`. */
export function exponentialBackoff(attempt: number, { base, cap }: { base: number; cap: number }): number {
  return Math.min(cap, base * 2 ** Math.min(attempt - 1, 30));
}

/** Spreads `ms` by ± `share` of itself, so that instances that failed together do not retry together. */
export function jittered(ms: number, share = 0.2, random: () => number = Math.random): number {
  return ms * (1 + share * (2 * random() - 1));
}
