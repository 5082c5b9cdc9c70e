import { errorText } from '@payonce/leases/error-text';
import { partMetric } from '@payonce/leases/telemetry';
import { StoreAway } from '../documents/documentStore.ts';
import type { Instance } from '../instance.ts';
import type { PaceStore, ScheduleChange, Schedule } from './paceStore.ts';
import type { Gate, PauseWatch } from './pause.ts';
import {
  endOfWindow,
  newSchedule,
  type SharedClock,
  type Slot,
  sharedClock,
  slotsOf,
  slowestShare,
  stretchOf,
} from './schedule.ts';
import { type CallEnd, type CallTurns, createTurns, mix, type Place, type Turn } from './turns.ts';

interface PacerPolicy {
  /** The name of the schedule. */
  limit: string;
  /** Calls per second of all instances together: a ceiling, below which the pace follows what the provider takes. */
  ceiling: number;
}

/** Hands out turns to make calls, such that all instances together keep to the rate. */
export interface Pacer {
  /** Undefined if a call has no turn before `before` (monotonic milliseconds), calls are paused, or the process stops. */
  turn(before: number, place?: Place): Promise<Turn | undefined>;
  /** Lets work with so many calls in, in the order of asking, shortly before they can be made. Undefined as for `turn`. */
  admit(calls: number, before: number): Promise<Admission | undefined>;
}

/** Work is let in while fewer calls wait than this process makes in this time, in milliseconds. */
const leadMs = 2_000;

/** Interval at which waits that are over are ended, and at which work that waits looks for room (ms). */
const lookEveryMs = 50;

export interface PacerParts {
  store: PaceStore;
  instance: Instance;
  stopping?: AbortSignal;
  /** While calls are paused, nothing gets a turn or is let in. While that is not known, everything waits. */
  pause?: Pick<PauseWatch, 'gate'>;
}

/** Makes the pacer of one process. `limit` names the schedule that all instances share; `ceiling` is calls a second of all of them. */
export function createPacer(
  { store, instance, stopping, pause: { gate } = alwaysOpen }: PacerParts,
  policy: PacerPolicy,
): Pacer {
  const { clock, telemetry } = instance;
  const { limit } = policy;
  const shared = sharedClock(clock);
  /** Calls of work that waits to be let in, and of work that was let in and is open. */
  const work = { queued: 0, open: 0 };
  const turns = createTurns(
    { clock, shared, mayGo: () => door() === 'open' },
    {
      onTurn: (waitedMs) => telemetry.record(partMetric.paceWaitedMs, waitedMs, { limit }),
      onEnd(end) {
        telemetry.count(partMetric.paceCalls, { limit, result: end.kind });
        supply.report(end);
      },
    },
  );
  const supply = createSupply({ store, shared, turns, work, instance }, policy, () => {
    woken.resolve();
    woken = Promise.withResolvers();
  });
  let running = false;
  let woken = Promise.withResolvers<void>();
  let line: Promise<unknown> = Promise.resolve();

  return {
    turn(before, place = 'inLine') {
      if (door() === 'paused') return Promise.resolve(undefined);
      const turn = turns.wait(before, place);
      void run();
      return turn;
    },
    admit(calls, before) {
      work.queued += calls;
      const admission = line.then(() => letIn(calls, before));
      line = admission;
      return admission;
    },
  };

  /** The one gate of all calls to the provider: a process that stops makes none, as in a pause. */
  function door(): Gate {
    return stopping?.aborted === true ? 'paused' : gate();
  }

  async function letIn(calls: number, before: number): Promise<Admission | undefined> {
    let admitted = false;
    while (!admitted && door() !== 'paused' && clock.monotonic() < before) {
      const ahead = turns.waiting + work.open;
      const most = ((turns.rate() ?? supply.pace()) * leadMs) / 1000;
      admitted = door() === 'open' && (ahead === 0 || ahead < most);
      if (!admitted) await clock.sleep(lookEveryMs);
    }
    work.queued -= calls;
    if (!admitted) return undefined;
    let counted = calls;
    work.open += calls;
    void run();
    return {
      [Symbol.dispose]() {
        work.open -= counted;
        counted = 0;
      },
    };
  }

  /** Runs while anything waits for its turn, or will soon. */
  async function run(): Promise<void> {
    if (running) return;
    running = true;
    let lookedAt = Number.NEGATIVE_INFINITY;
    while (turns.waiting > 0 || work.open > 0) {
      if (door() === 'paused') {
        turns.expire(true);
        if (stopping?.aborted === true) break;
      }
      if (clock.monotonic() - lookedAt >= lookEveryMs) {
        lookedAt = clock.monotonic();
        turns.expire();
      }
      const nextMs = turns.go(supply.pace());
      supply.reserveMore();
      await Promise.race([clock.sleep(Math.min(nextMs ?? lookEveryMs, lookEveryMs)), woken.promise]);
    }
    running = false;
  }
}

const alwaysOpen: Pick<PauseWatch, 'gate'> = { gate: () => 'open' };

/** Work that was let in: while it is open, its calls count as waiting. */
export type Admission = Disposable;

/**
 * The slots that one process reserves for its calls, one request at a time, and what it reports with them. While the store
 * gives no answer the process goes on alone.
 */

/** Time for which slots are reserved ahead, and least time between two reservations while a slot is left (ms). */
const aheadMs = 1_000;
const reserveEveryMs = 100;

/** A store that takes longer than this to answer, in milliseconds, is silent: the process goes on at its last rate. */
const silentMs = 1_000;
/** Share of its last rate that it takes then: others may have got a larger share meanwhile. */
const shareWhenSilent = 0.9;

/** Weight of the newest request in the usual time of one. */
const newestWeight = 0.2;

function createSupply(
  parts: {
    store: PaceStore;
    shared: SharedClock;
    turns: CallTurns;
    work: { readonly queued: number; readonly open: number };
    instance: Instance;
  },
  { limit, ceiling }: PacerPolicy,
  /** Called when there are new slots. */
  onSlots: () => void,
) {
  const { store, shared, turns, work, instance } = parts;
  const { clock, telemetry } = instance;
  let schedule: Schedule | undefined;
  let report = nothing;
  let reserving = false;
  let reservedAt = Number.NEGATIVE_INFINITY;
  let storeMs = 10;
  let silent = false;
  let lastShare = 0;
  /** Time of the last slot of its own while the store is silent, on the shared clock (ms). */
  let aloneUntil = 0;

  return {
    /** Reserves slots if those at hand do not last. */
    reserveMore(): void {
      const reservedUntil = turns.slots.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
      if (wanted() <= 0 || reservedUntil >= shared.now() + aheadMs + 2 * storeMs) return;
      const sinceMs = clock.monotonic() - reservedAt;
      if (reserving) {
        if (sinceMs >= Math.max(silentMs, 3 * storeMs)) goOnAlone(`no answer within ${silentMs} ms`);
        return;
      }
      if (sinceMs < reserveEveryMs && (silent || turns.slots.length > 0)) return;
      void reserveOnce();
    },
    /** Reports a call that has ended, with the next reservation. */
    report(end: CallEnd): void {
      if (end.kind === 'refused' && end.holdUntil > 0) turns.dropBefore(end.holdUntil);
      const refused = end.kind === 'refused' ? { refused: 1, holdUntil: end.holdUntil } : {};
      report = sumOf(report, { ...nothing, epoch: end.epoch, answered: 1, ...refused });
    },
    pace,
  };

  /** Calls per second that all instances together may make now. */
  function pace(): number {
    return Math.min(schedule?.pace ?? ceiling, ceiling);
  }

  /** Calls that wait or will soon, and have no slot. */
  function wanted(): number {
    return turns.waiting + work.open - turns.slots.length;
  }

  async function reserveOnce(): Promise<void> {
    reserving = true;
    reservedAt = clock.monotonic();
    const told = report;
    report = nothing;
    try {
      const own = turns.waiting + work.open + work.queued;
      const to = { store, shared, limit, ceiling, storeMs, ahead: own };
      const reserved = await reserve(to, schedule, told, ({ pace: slotsPerSecond, next, last }) =>
        stretchOf({
          pace: slotsPerSecond,
          aheadMs: next - shared.now(),
          storeMs,
          wanted: Math.max(1, wanted()),
          weight: own / Math.max(1, last.ahead ?? own),
        }),
      );
      storeMs = mix(storeMs, Math.min(clock.monotonic() - reservedAt, silentMs), newestWeight);
      silent = false;
      lastShare = turns.rate() ?? lastShare;
      schedule = reserved.schedule;
      turns.dropBefore(schedule.holdUntil);
      turns.add(reserved.slots);
      reservedAt = clock.monotonic();
      await endWindow(schedule);
    } catch (error) {
      report = sumOf(report, told);
      goOnAlone(errorText(error));
    } finally {
      reserving = false;
      onSlots();
    }
  }

  async function endWindow(from: Schedule): Promise<void> {
    const ended = endOfWindow(from, ceiling, shared.now());
    if (ended === undefined) return;
    const where = { epoch: from.epoch, windowSince: from.window.since };
    const changed = await store.change(limit, { where, set: ended });
    if (changed === undefined) return;
    telemetry.record(partMetric.paceRate, changed.pace, { limit });
    if (changed.epoch > from.epoch) {
      instance.log(`the provider refuses ${limit}: the pace is cut to ${changed.pace.toFixed(1)} a second`);
    }
    schedule = changed;
  }

  /** Slots of its own, at a little less than this process had. */
  function goOnAlone(why: string): void {
    if (!silent) instance.log(`the pace of ${limit} is not shared at the moment: ${why}`);
    silent = true;
    telemetry.count(partMetric.paceAlone, { limit });
    const own = Math.max(pace() * slowestShare, lastShare * shareWhenSilent);
    const before = Math.max(aloneUntil, turns.slots.at(-1)?.at ?? 0);
    const from = Math.max(shared.now(), before + 1000 / own);
    // A slot far ahead would hold back what the store grants meanwhile.
    if (from > shared.now() + aheadMs) return;
    const count = Math.max(0, Math.min(wanted(), Math.ceil((own * aheadMs) / 1000)));
    const slots = slotsOf({ pace: own, epoch: schedule?.epoch ?? 0 }, from, count);
    aloneUntil = slots.at(-1)?.at ?? aloneUntil;
    turns.add(slots);
  }
}

/** Outcomes of calls since the last report, all of one epoch. */
interface PaceReport {
  epoch: number;
  answered: number;
  refused: number;
  /** End of the time in which the provider wants no calls; 0 if it did not say. */
  holdUntil: number;
}

const nothing: PaceReport = { epoch: 0, answered: 0, refused: 0, holdUntil: 0 };

/** Sum of two reports. The counts of an older epoch are dropped. */
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

interface ReserveParts {
  store: PaceStore;
  shared: SharedClock;
  limit: string;
  ceiling: number;
  /** Usual answer time of the store (ms): slots before that would be over when they are granted. */
  storeMs: number;
  /** Calls that this instance has ahead of it. Default: nobody asks. */
  ahead?: number;
}

interface Reserved {
  slots: Slot[];
  schedule: Schedule;
}

/** Clock skew tolerated before we catch up with another instance (ms). Requests overtake each other by less. */
const skewMs = 100;

/** Reads and changes until one is granted. Somebody else's change in between costs one round; two are rare. */
const mostRounds = 5;

/**
 * Reserves slots for `count(schedule)` calls and reports, in one request unless somebody else came between. @throws {StoreAway}
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
    const now = shared.now();
    const wanted = count(schedule);
    const lengthMs = (wanted * 1000) / schedule.pace;
    const holdUntil = Math.max(schedule.holdUntil, report.holdUntil);
    const earliest = Math.max(now + storeMs, holdUntil);
    // Reports of another epoch would blame the new pace for the old one.
    const { answered, refused } = report.epoch === schedule.epoch ? report : nothing;
    const told = ahead === undefined ? {} : { 'window.reserved': 1, 'window.ahead': ahead };
    const counts = { 'window.answered': answered, 'window.refused': refused, ...told };
    const where = { epoch: schedule.epoch, atUntil: now + skewMs };
    const set = { at: now, holdUntil };
    const change: ScheduleChange =
      schedule.next >= earliest
        ? { where: { ...where, nextFrom: earliest }, add: { ...counts, next: lengthMs }, set }
        : {
            // Nobody has reserved the time until now, or it is not to be used: it is skipped.
            where: { ...where, nextBefore: earliest },
            add: counts,
            set: { ...set, next: earliest + lengthMs },
          };
    const changed = await store.change(limit, change);
    if (changed !== undefined) {
      return { schedule: changed, slots: slotsOf(schedule, changed.next - lengthMs, wanted) };
    }
    schedule = await readOrCreate();
  }
  throw new StoreAway('noAnswer', undefined, `the schedule of ${limit} changed ${mostRounds} times in a row`);

  async function readOrCreate(): Promise<Schedule> {
    const found = await store.read(limit);
    if (found !== undefined) return found;
    await store.create(limit, newSchedule(ceiling, shared.now()));
    return (await store.read(limit)) ?? newSchedule(ceiling, shared.now());
  }
}
