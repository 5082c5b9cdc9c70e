import type { Lease } from '@payonce/leases';

/** Counts of a run, by name: claimed, skipped, … */
export type RunCounts = Readonly<Record<string, number>>;

/** Outcome of one piece of work. */
export interface Processed {
  counts: RunCounts;
  /** Reason if this piece could not be done. The others are; the group then counts as failed. */
  failed?: string;
  /** Reason for the group to end here: more work would only pile up. The next run goes on. */
  stop?: string;
  /** Reason for which the group ends although nothing has failed: its job is paused. The next run goes on. */
  held?: string;
  /** Sign that somebody else has the group's lease. */
  lost?: string;
}

/** In place of a piece of work: there is nothing to do for `ms` milliseconds, and there may be something after that. */
export class Idle {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

/** On whose behalf a group is processed. */
export interface GroupRun {
  runId: string;
  group: string;
  /** The name of the instance. */
  instance: string;
  /** The request, of a manual run whose job takes one. */
  request?: unknown;
  /** The piece was in hand when the run was cut off: it may have been done, in part or in full. */
  again?: boolean;
  lease: Pick<Lease, 'key' | 'fence' | 'signal' | 'assertHeld'>;
}

/** The run that a plan is for. */
export interface RunSoFar {
  runId: string;
  /** The request, of a manual run whose job takes one. */
  request?: unknown;
  /** Counts of the group so far, before a crash or the end of an activity. */
  counts: RunCounts;
}

/** A job, declared once for the timer and manual runs. Several instances share its groups, each under its own lease. */
export interface Job<Work = unknown> {
  readonly name: string;
  /** Names without `/` and `~`. */
  readonly groups: readonly string[];
  /** Finds the work of a group, piece by piece. It reads only: a dry run uses it too, and must not be made to wait. */
  plan(group: string, options: { dryRun: boolean; run?: RunSoFar }): AsyncIterable<Work | Idle>;
  /** Does one piece of work and says what it did. May throw `LeaseLost` or `FencedOut`, which ends the group. */
  process(work: Work, run: GroupRun): Promise<Processed>;
  /** Counts that `process` would return if nobody interfered: all that a dry run does. Absent: it only plans. Pure. */
  preview?(work: Work): RunCounts;
  /**
   * Each piece is recorded before it is begun. A run that goes on after a crash begins with the one that was in hand, so its
   * counts are exact. Pieces are JSON, and doing one twice in a run counts what the first time did.
   */
  readonly keepsPiece?: true;
}

/** Declares a job, and hides the type of its pieces of work. @throws {Error} a group's name is refused */
export function defineJob<Work>(job: Job<Work>): Job {
  // A group's record is patched by a path (https://www.rfc-editor.org/rfc/rfc6901), and each report would be refused.
  const bad = job.groups.find((group) => /[/~]/.test(group));
  if (bad !== undefined)
    throw new Error(`groups: expected names without / and ~, got "${bad}" in job ${job.name}`);
  // Only its own plan finds the work that a job gets.
  return job;
}
