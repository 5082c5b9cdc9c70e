import { StoreAway } from '../documents/documentStore.ts';
import type { PaceStore, ScheduleChange } from './paceStore.ts';
import { newSchedule, type Schedule, type Slot, slotsOf } from './schedule.ts';
import type { SharedClock } from './sharedClock.ts';

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

export interface ReserveParts {
  store: PaceStore;
  shared: SharedClock;
  limit: string;
  ceiling: number;
  /** How long the store usually takes to answer, in milliseconds: slots before that would be over when they are granted. */
  storeMs: number;
  /** Calls that this instance has ahead of it. Default: nobody asks. */
  ahead?: number;
}

export interface Reserved {
  slots: Slot[];
  schedule: Schedule;
}

/**
 * How far another instance may be ahead of this one, in milliseconds, before this one catches up. Requests overtake each
 * other by less.
 */
const aheadMs = 100;

/** Reads and changes until one is granted. Somebody else's change in between costs one round; two are rare. */
const mostRounds = 5;

/**
 * Reserves slots for `count(schedule)` calls: one request in the usual case, in which others wait too, or nobody else was
 * here meanwhile. The report goes along with it.
 *
 * @throws {StoreAway}
 */
export async function reserve(
  { store, shared, limit, ceiling, storeMs, ahead }: ReserveParts,
  known: Schedule | undefined,
  report: PaceReport,
  count: (schedule: Schedule) => number,
): Promise<Reserved> {
  let schedule = known ?? (await readOrCreate());
  for (let round = 1; round <= mostRounds; round++) {
    shared.catchUp(schedule.at);
    const granted = await grant(schedule);
    if (granted !== undefined) return granted;
    schedule = await readOrCreate();
  }
  throw new StoreAway('noAnswer', undefined, `the schedule of ${limit} changed ${mostRounds} times in a row`);

  async function grant(from: Schedule): Promise<Reserved | undefined> {
    const now = shared.now();
    const wanted = count(from);
    const lengthMs = (wanted * 1000) / from.pace;
    const holdUntil = Math.max(from.holdUntil, report.holdUntil);
    const earliest = Math.max(now + storeMs, holdUntil);
    // Reports of another epoch would blame the new pace for the old one.
    const { answered, refused } = report.epoch === from.epoch ? report : { answered: 0, refused: 0 };
    const told = ahead === undefined ? {} : { 'window.reserved': 1, 'window.ahead': ahead };
    const counts = { 'window.answered': answered, 'window.refused': refused, ...told };
    const inTurn = from.next >= earliest;
    const change: ScheduleChange = inTurn
      ? {
          where: { epoch: from.epoch, nextFrom: earliest, atUntil: now + aheadMs },
          add: { ...counts, next: lengthMs },
          set: { at: now, holdUntil },
        }
      : {
          // Nobody has reserved the time until now, or it is not to be used: it is skipped.
          where: { epoch: from.epoch, nextBefore: earliest, atUntil: now + aheadMs },
          add: counts,
          set: { at: now, holdUntil, next: earliest + lengthMs },
        };
    const changed = await store.change(limit, change);
    if (changed === undefined) return undefined;
    return { schedule: changed, slots: slotsOf(from, changed.next - lengthMs, wanted) };
  }

  async function readOrCreate(): Promise<Schedule> {
    const found = await store.read(limit);
    if (found !== undefined) return found;
    await store.create(limit, newSchedule(ceiling, shared.now()));
    return (await store.read(limit)) ?? newSchedule(ceiling, shared.now());
  }
}
