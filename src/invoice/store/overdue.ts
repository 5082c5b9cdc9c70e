/**
 * Invoices that should have been paid by now: due and waiting, or claimed, or claimed before and waiting for another try. An
 * invoice that waits for the date of its next try after a decline is none, and neither is one whose due date was moved.
 */
export interface Overdue {
  count: number;
  /** When (ISO 8601) the present key of the oldest was first claimed; absent if none has been. */
  claimedSince?: string;
  /** Since when (ISO 8601) the oldest of those whose present key was never claimed has been due; absent if there is none. */
  dueSince?: string;
}

/** An invoice that was claimed and not paid waits no longer than this for its next try, in milliseconds. */
export const retryWithinMs = 3_600_000;

/** Since when the oldest of these has been due. Nobody could have paid one before it was imported. */
export function oldestDue(
  waiting: readonly { actionableAt: string; createdAt: string }[],
): string | undefined {
  return waiting
    .flatMap(({ actionableAt, createdAt }) => [actionableAt, createdAt].toSorted().slice(-1))
    .toSorted()[0];
}

/** How long the oldest has been waiting at `now`, in milliseconds, by either measure; 0 if there is none. */
export function overdueMs({ claimedSince, dueSince }: Overdue, now: number): { claim: number; due: number } {
  const age = (since: string | undefined) => (since === undefined ? 0 : Math.max(0, now - Date.parse(since)));
  return { claim: age(claimedSince), due: age(dueSince) };
}
