import type { Schedule } from './schedule.ts';

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

/**
 * Where schedules are kept, one for each limit. packages/jobs/test/rate/paceStoreContract.ts says how a store behaves. All methods may
 * reject with `StoreAway`.
 */
export interface PaceStore {
  read(limit: string): Promise<Schedule | undefined>;
  /** Creates a schedule; the first one stays. */
  create(limit: string, schedule: Schedule): Promise<void>;
  /** Changes a schedule in one step, and returns it as it is then. Undefined: the condition does not hold. */
  change(limit: string, change: ScheduleChange): Promise<Schedule | undefined>;
}
