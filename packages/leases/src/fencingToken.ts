/**
 * The highest fence that the store of the protected data has seen for a lock; undefined if it has seen none. New fences are
 * higher, even if the lock store lost its data or was exchanged for another.
 */
export type FenceFloor = (key: string, signal: AbortSignal) => Promise<number | undefined>;

/**
 * The first number above the last fence of the lock and above `floor` that is no less than `now`, in milliseconds since the
 * epoch. So fences rise even if the store has lost its data, as long as that clock does not go back and the lock is acquired
 * less than a thousand times a second.
 */
export function nextFence(last: number | undefined, now: number, floor = 0): number {
  return Math.max(1, (last ?? 0) + 1, Math.floor(now), floor + 1);
}
