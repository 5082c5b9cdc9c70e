/** What became of calls since the last report, all of them of one epoch. */
export interface PaceReport {
  epoch: number;
  answered: number;
  refused: number;
  /** Until when the provider wants no calls; 0 if it did not say. */
  holdUntil: number;
}

export function emptyReport(epoch: number): PaceReport {
  return { epoch, answered: 0, refused: 0, holdUntil: 0 };
}

/** What two reports say together. The counts of an older epoch are dropped. */
export function sumOf(one: PaceReport, other: PaceReport): PaceReport {
  const epoch = Math.max(one.epoch, other.epoch);
  const current = [one, other].filter((report) => report.epoch === epoch);
  return {
    epoch,
    answered: current.reduce((sum, { answered }) => sum + answered, 0),
    refused: current.reduce((sum, { refused }) => sum + refused, 0),
    holdUntil: Math.max(one.holdUntil, other.holdUntil),
  };
}
