/** Milliseconds: after the first look, while work moves, while nothing does, and the longest after failures. */
export const pollMs = { first: 1_000, busy: 5_000, idle: 30_000, longest: 60_000 };

/**
 * Calculates the wait before the next look, after `failures` in a row (ms). Work that has just begun to move is watched
 * closely: a small run ends within seconds. Each of the `looks` before that found it moving doubles the time. Pure.
 */
export function nextPollMs(busy: boolean, failures: number, looks = Number.POSITIVE_INFINITY): number {
  // An app that is away may come back at any moment.
  if (failures > 0) return Math.min(pollMs.longest, pollMs.busy * 2 ** failures);
  return busy ? Math.min(pollMs.busy, pollMs.first * 2 ** looks) : pollMs.idle;
}
