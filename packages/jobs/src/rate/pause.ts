/**
 * A pause of all claims and calls, ordered by a person. It is one document that every process looks at:
 *
 *   none, or ended ──pause──► in force ──resume, or `until` has come──► ended
 *                               │  ▲
 *                               └──┘ paused again: the latest reason and end count
 *
 * Nobody is told. A process with something to claim or to call looks every two seconds, trusts what it saw for eight, and then
 * makes no call until it has looked again: the pause holds everywhere within ten.
 */

import type { Clock } from '@payonce/leases/clock';
import type { PauseOrder, PauseStore } from './paceStore.ts';

/** The pause that is in force at `now` (milliseconds). Pure. */
export function inForce(pause: PauseOrder | undefined, now: number): PauseOrder | undefined {
  if (pause === undefined || pause.resumedAt !== undefined) return undefined;
  return pause.until !== undefined && Date.parse(pause.until) <= now ? undefined : pause;
}

/** Age from which on a look is repeated, and age from which on it no longer counts (ms). */
const lookEveryMs = 2_000;
const countsMs = 8_000;
/** Delay before another look after one that failed (ms). */
const againMs = 500;

/** Within this time, in milliseconds, a pause holds everywhere. */
export const pausedWithinMs = 10_000;

export type Gate = 'open' | 'paused' | 'unknown';

export interface PauseWatch {
  /** Tells if a call may be made now, as far as is known. Looks again in the background, so ask before every call. */
  readonly gate: () => Gate;
  /** Looks if the last look is no longer fresh, so that the gate answers for work that is about to begin. */
  readonly look: () => Promise<void>;
}

/** Looks at the pause for one process: only while it is asked, and one look at a time. */
export function watchPause(store: Pick<PauseStore, 'read'>, clock: Clock): PauseWatch {
  let seen: { pause: PauseOrder | undefined; at: number } | undefined;
  let looking: Promise<void> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;

  return {
    gate() {
      void look();
      if (ageMs() >= countsMs) return 'unknown';
      if (inForce(seen?.pause, clock.now()) === undefined) return 'open';
      // It may have ended: nothing is refused before that is known.
      return ageMs() < lookEveryMs ? 'paused' : 'unknown';
    },
    look,
  };

  /** Counted from the moment the look began: what was read may have changed right after. */
  function ageMs(): number {
    return seen === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - seen.at;
  }

  async function look(): Promise<void> {
    if (ageMs() < lookEveryMs || clock.monotonic() - failedAt < againMs) return;
    looking ??= readOnce().finally(() => {
      looking = undefined;
    });
    await looking;
  }

  async function readOnce(): Promise<void> {
    const at = clock.monotonic();
    try {
      seen = { pause: await store.read(), at };
    } catch {
      failedAt = clock.monotonic();
    }
  }
}
