/** Milliseconds: while work moves, while nothing does, and the longest after failures. */
export const pollMs = { busy: 5_000, idle: 30_000, longest: 60_000 };

/** How long to wait for the next look after `failures` in a row. Pure. */
export function nextPollMs(busy: boolean, failures: number): number {
  const usual = busy ? pollMs.busy : pollMs.idle;
  return Math.min(pollMs.longest, usual * 2 ** failures);
}
