import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/** Times are milliseconds since the epoch, on the clock that the instances share (`sharedClock`). */
export const scheduleSchema = tolerantObject({
  /** When the first free slot begins. */
  next: z.number(),
  /** Slots per second. */
  pace: z.number().positive(),
  /** Rises when the pace is cut: refusals of calls whose slots were granted before no longer count. */
  epoch: z.int(),
  /** The latest time at which an instance reserved something. */
  at: z.number(),
  /** The provider asked for no calls before this time (`Retry-After`). 0: it did not. */
  holdUntil: z.number(),
  /** Outcomes of the calls since `since`; reservations, and the sum of the calls that instances had ahead at each. */
  window: tolerantObject({
    since: z.number(),
    answered: z.int(),
    refused: z.int(),
    reserved: z.int().exactOptional(),
    ahead: z.int().exactOptional(),
  }),
  /** The window before that: calls per second, the share that was refused, and what an instance had ahead on average. */
  last: tolerantObject({ rate: z.number(), refusedShare: z.number(), ahead: z.number().exactOptional() }),
  trim: tolerantObject({
    /** Windows in a row in which too much was refused. */
    strikes: z.int(),
    /** The pace at which too much was refused last, times what was accepted. 0: the ceiling was never too high. */
    limit: z.number(),
    /** Time for which the pace is held after a cut (ms), and the end of that time. */
    holdMs: z.number(),
    heldUntil: z.number(),
    /** Growth of the pace after that: a share per second. */
    growth: z.number(),
  }),
});
export type Schedule = z.infer<typeof scheduleSchema>;

/** Conditions for changing a schedule. Times are milliseconds on the shared clock. */
export interface ScheduleCondition {
  readonly epoch: number;
  /** `next` is this late or later. */
  readonly nextFrom?: number;
  /** `next` is earlier than this. */
  readonly nextBefore?: number;
  /** `at` is this late at most. */
  readonly atUntil?: number;
  /** `window.since` is exactly this. */
  readonly windowSince?: number;
}

export interface ScheduleChange {
  readonly where: ScheduleCondition;
  /** Increments of fields, by their paths. */
  readonly add?: Partial<Record<'next' | `window.${'answered' | 'refused' | 'reserved' | 'ahead'}`, number>>;
  readonly set?: Partial<Schedule>;
}

/** Where schedules are kept; see packages/jobs/test/rate/paceStoreContract.ts. All methods may reject with `StoreAway`. */
export interface PaceStore {
  read(limit: string): Promise<Schedule | undefined>;
  /** Creates a schedule; the first one stays. */
  create(limit: string, schedule: Schedule): Promise<void>;
  /** Changes a schedule in one step, and returns it as it is then. Undefined: the condition does not hold. */
  change(limit: string, change: ScheduleChange): Promise<Schedule | undefined>;
}

/** Times are ISO 8601, UTC. */
export const pauseSchema = tolerantObject({
  reason: z.string(),
  /** Actor that ordered it. */
  by: z.string(),
  at: z.string(),
  /** When it ends by itself. Absent: when somebody resumes. */
  until: z.string().exactOptional(),
  /** When somebody ended it, and who. */
  resumedAt: z.string().exactOptional(),
  resumedBy: z.string().exactOptional(),
});
export type PauseOrder = z.infer<typeof pauseSchema>;

/** Where the latest pause is kept. All methods may reject with `StoreAway`. */
export interface PauseStore {
  /** The latest, in force or not. */
  read(): Promise<PauseOrder | undefined>;
  /** Puts a pause in force. Of two orders, the later one counts. */
  begin(pause: PauseOrder): Promise<void>;
  /** Ends this pause; false if another one was ordered meanwhile, or somebody else has ended it. */
  end(pause: Pick<PauseOrder, 'at'>, resumed: { at: string; by: string }): Promise<boolean>;
}
