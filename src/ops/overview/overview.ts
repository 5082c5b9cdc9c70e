import type { InvoiceCounts } from '../../invoice/store/invoiceCounts.ts';
import { jobLockPrefix, type LockStore, listLocks } from '../../locking/index.ts';
import { inForce, type PauseStore } from '../../pacing/pause.ts';
import type { Instance } from '../../platform/instance.ts';
import { remembered } from '../../platform/remembered.ts';
import { asShown } from '../../runs/abandoned.ts';
import type { Job } from '../../runs/job.ts';
import { runView } from '../../runs/runRecord.ts';
import type { RunStore } from '../../runs/runStore.ts';
import type { DeadLetterSource } from '../deadLetters.ts';
import { pauseView } from '../pauseApi.ts';
import type { Summary } from '../summary.ts';
import { attentionOf } from './attention.ts';
import { paidPerHour } from './paidPerHour.ts';
import { parkedReasons } from './parkedReasons.ts';

/** Dashboards that are open ask every few seconds: all of an instance share an answer this old, in milliseconds. */
const freshMs = 2_000;
/** The same for messages that were given up, which another service has to be asked for. */
const deadLettersMs = 10_000;
const mostDeadLetters = 100;
const latestRuns = 5;

interface Parts {
  summarize: () => Promise<Summary>;
  invoiceCounts: InvoiceCounts;
  deadLetters: readonly DeadLetterSource[];
  lockStore: LockStore;
  job: Job;
  runs: RunStore;
  pauses: Pick<PauseStore, 'read'>;
  instance: Instance;
}

/**
 * Everything that the first page of the dashboard shows, in one answer. Whether payments are paused is always asked, so that
 * an operator who has just paused them sees it.
 */
export function overviewOf(parts: Parts) {
  const { summarize, invoiceCounts, deadLetters, lockStore, job, runs, pauses, instance } = parts;
  const { clock } = instance;
  const perHour = paidPerHour(invoiceCounts);
  const givenUp = remembered(
    async () => (await Promise.all(deadLetters.map((source) => source.list(mostDeadLetters)))).flat(),
    deadLettersMs,
    clock,
  );
  const shared = remembered(
    async () => {
      const now = clock.now();
      const [summary, byReason, paid, letters, leases, latest] = await Promise.all([
        summarize(),
        invoiceCounts.parkedByReason(),
        perHour(now),
        givenUp(),
        heldLeases(),
        runs.list({ job: job.name, pageSize: latestRuns }),
      ]);
      return {
        at: new Date(now).toISOString(),
        attention: attentionOf(summary, letters, now),
        ...summary,
        parkedReasons: parkedReasons(byReason),
        paidPerHour: paid,
        deadLetters: letters.length,
        leases,
        runs: latest.items.map((run) => runView(asShown(run, now))),
      };
    },
    freshMs,
    clock,
  );
  return async () => {
    const [overview, pause] = await Promise.all([shared(), pauses.read()]);
    return { ...overview, paused: pauseView(inForce(pause, clock.now())) };
  };

  /** How many leases of jobs are held, of those that are known; null if the store cannot list them. */
  async function heldLeases(): Promise<{ held: number; known: number } | null> {
    const locks = await listLocks(lockStore, { prefix: jobLockPrefix, clock });
    if (locks === undefined) return null;
    return { held: locks.filter(({ held }) => held).length, known: locks.length };
  }
}
