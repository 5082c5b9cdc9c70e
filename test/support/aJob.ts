import { defineJob, type GroupRun, type Job } from '../../packages/jobs/src/runs/job.ts';

export interface JobWatch {
  job: Job;
  /** The pieces processed, as `{group}:{piece}`, in order. */
  processed: string[];
}

/** A job whose groups have the given numbers of pieces; `during` runs while a piece is processed. */
export function aJob(
  pieces: Record<string, number>,
  during: (piece: string, run: GroupRun) => void | Promise<void> = () => {},
  name = 'count',
): JobWatch {
  const processed: string[] = [];
  const job = defineJob<string>({
    name,
    groups: Object.keys(pieces),
    async *plan(group) {
      for (let n = 0; n < (pieces[group] ?? 0); n++) yield `${group}:${n}`;
    },
    async process(piece, run) {
      await during(piece, run);
      run.lease.assertHeld();
      processed.push(piece);
      return { counts: { done: 1 } };
    },
    preview: () => ({ done: 1 }),
  });
  return { job, processed };
}
