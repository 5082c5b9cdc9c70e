import type { Clock } from '../platform/clock.ts';
import type { PaceStore, Schedule } from './schedule.ts';

/** How much work is claimed ahead of the calls, at most: what the fleet calls in this time, in milliseconds. */
const longestAheadMs = 120_000;

/** The same as a share of the time after which a claim is stale: the last of it is begun long before that. */
const staleShare = 0.4;

/** The same as a share of the time that a batch has for its calls: one that waits behind all the others still has its turn. */
const windowShare = 0.6;

/** Of the pace, what is claimed for before it is known how fast the fleet really is; and how it grows from there. */
const unknownShare = 1 / 6;
const growth = 1.25;

/** Batches that each group may have open, at least: with fewer the consumers would wait for the claimers. */
const fewestBatches = 4;

/** How often it is counted what is open, in milliseconds: when a group's part of the room is used up, and in any case. */
const lookEveryMs = { usedUp: 1_000, inAnyCase: 10_000 };

export interface RoomPolicy {
  /** Parts of the work, each under a lease of its own. */
  groups: number;
  batchSize: number;
  claimStaleMs: number;
  /** How long after its delivery calls of a batch may begin, in milliseconds. */
  callWindowMs: number;
  /** Calls per second, as long as nobody has made one. */
  ceiling: number;
}

/** How much may be claimed and not done at a time, over all groups. Pure. */
export function mostOpen(
  schedule: Pick<Schedule, 'pace' | 'last'> | undefined,
  { groups, claimStaleMs, callWindowMs, ceiling }: Omit<RoomPolicy, 'batchSize'>,
): number {
  const { pace, last } = schedule ?? { pace: ceiling, last: { rate: 0 } };
  const perSecond = Math.min(pace, Math.max(last.rate * growth, pace * unknownShare));
  const aheadMs = Math.min(longestAheadMs, claimStaleMs * staleShare, callWindowMs * windowShare);
  return Math.max(groups * fewestBatches, Math.round((perSecond * aheadMs) / 1000));
}

/** The room that one group has for claims. */
export interface ClaimRoom {
  /** How much the group may claim now in one batch; 0: nothing for the moment. */
  batch(): Promise<number>;
  /** So many were claimed. */
  taken(count: number): void;
}

/**
 * Keeps what is claimed to what can be done soon, so that no claim goes stale before its call has begun. What is open is
 * counted at most once a second. Each group takes its part of the room that is left: they never overshoot together, and soon
 * fill it, since what one leaves is there for the others a second later.
 */
export function createClaimRoom(
  {
    openClaims,
    pace,
    clock,
  }: {
    /** How much is claimed and not stale at `now` (ISO 8601, UTC), over all groups. */
    openClaims: (now: string) => Promise<number>;
    pace: PaceStore;
    clock: Clock;
  },
  limit: string,
  policy: RoomPolicy,
): ClaimRoom {
  const { groups, batchSize } = policy;
  let known = { at: Number.NEGATIVE_INFINITY, left: 0, most: 0, open: 0 };

  return {
    async batch() {
      const sinceMs = clock.monotonic() - known.at;
      const usedUp = known.left < size();
      if (sinceMs >= (usedUp ? lookEveryMs.usedUp : lookEveryMs.inAnyCase)) await look();
      return known.left >= size() ? size() : 0;
    },
    taken(count) {
      known.left -= count;
      known.open += count;
    },
  };

  /** Smaller batches where little may be open, so that every group has some. */
  function size(): number {
    return Math.max(1, Math.min(batchSize, Math.floor(known.most / (groups * fewestBatches))));
  }

  async function look(): Promise<void> {
    const [open, schedule] = await Promise.all([
      // One shard that is away must not end the work in the others. Until it can be counted again, what this group has claimed
      // since counts as open.
      openClaims(new Date(clock.now()).toISOString()).catch(() => known.open),
      // Without the schedule the pace is taken to be the ceiling.
      pace.read(limit).catch(() => undefined),
    ]);
    const most = mostOpen(schedule, policy);
    known = { at: clock.monotonic(), most, open, left: Math.max(0, most - open) / groups };
  }
}

/** For a dry run, which claims nothing. */
export function unlimitedRoom(batchSize: number): ClaimRoom {
  return { batch: async () => batchSize, taken() {} };
}
