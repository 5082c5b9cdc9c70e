/** Where the groups of a job tell each other how long the first of what they have to do has been waiting. */
export interface HeadBoard {
  /**
   * Tells the others since when (ISO 8601) the first has been waiting in this group, as of `at` (milliseconds), and returns
   * what all groups have told. @throws {StoreAway}
   */
  tell(group: string, head: Head): Promise<readonly Head[]>;
}

export interface Head {
  since: string;
  at: number;
}

/** Two have been waiting for about the same time within this, in milliseconds. */
const aboutTheSameMs = 60_000;

/** What was told longer ago than this, in milliseconds, no longer counts: its group has nothing due, or nobody runs it. */
const forgottenMs = 5_000;

/** Whether a group with this head lets the others go first. Pure. */
export function letsOthersFirst(own: Head, all: readonly Head[]): boolean {
  const others = all.filter(({ at }) => own.at - at <= forgottenMs).map(({ since }) => Date.parse(since));
  return Math.min(...others) + aboutTheSameMs < Date.parse(own.since);
}
