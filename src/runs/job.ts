import type { Lease } from '../locking/index.ts';

/** What a run has done, by name: claimed, skipped, … */
export type Counts = Readonly<Record<string, number>>;

/** What became of one piece of work. */
export interface Processed {
  counts: Counts;
  /** Why the group had better not go on now: more work would only pile up. The next run goes on. */
  stop?: string;
  /** How it was noticed that the group's lease is another's. */
  lost?: string;
}

/** In whose name a group is processed. */
export interface GroupRun {
  runId: string;
  group: string;
  /** The instance, as it shall be shown to people. */
  by: string;
  lease: Pick<Lease, 'key' | 'fence' | 'signal' | 'assertHeld'>;
}

/**
 * A scheduled job, declared once; the timer and manual runs share it. Its work is split into groups, each under a lease
 * of its own, so that several instances work side by side without meeting.
 */
export interface Job<Work = unknown> {
  readonly name: string;
  readonly groups: readonly string[];
  /** Finds the work of a group, piece by piece. It reads only: a dry run uses it too. */
  plan(group: string): AsyncIterable<Work>;
  /** Does one piece of work, and says what it did. May throw `LeaseLost` or `FencedOut`, which ends the group. */
  process(work: Work, run: GroupRun): Promise<Processed>;
  /** What `process` would do with a piece of work if nobody came between. Pure: this is all that a dry run does. */
  preview(work: Work): Counts;
}

/** Declares a job; the type of its pieces of work is its own affair from here on. */
export function defineJob<Work>(job: Job<Work>): Job {
  return {
    name: job.name,
    groups: job.groups,
    plan: (group) => job.plan(group),
    process: (work, run) => job.process(work as Work, run),
    preview: (work) => job.preview(work as Work),
  };
}

/** Key of the lease of a job's group. */
export function groupLockKey(job: string, group: string): string {
  return `jobs/${job}/${group}`;
}

export function addCounts(a: Counts, b: Counts): Counts {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
