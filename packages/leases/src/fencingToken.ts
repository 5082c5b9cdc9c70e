/** The highest fence that the protected data has seen, which new ones exceed even if the lock store lost its data. */
export type FenceFloor = (key: string, signal: AbortSignal) => Promise<number | undefined>;

/**
 * The fencing token of a new holder: above the last one and above `floor`, and no less than `now` (ms since the epoch). So it
 * rises even if the store has lost its data, unless that clock goes back or the lock is acquired a thousand times a second.
 */
export function nextFence(last: number | undefined, now: number, floor = 0): number {
  return Math.max(1, (last ?? 0) + 1, Math.floor(now), floor + 1);
}
