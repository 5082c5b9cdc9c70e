import type { InvoiceCounts } from '../invoice/store/invoiceCounts.ts';
import { jobLockPrefix, listLocks } from '../locking/index.ts';
import { inForce } from '../pacing/pause.ts';
import { remembered } from '../platform/remembered.ts';
import { asShown } from '../runs/abandoned.ts';
import { runView } from '../runs/runRecord.ts';
import type { Summary } from './answers/figureAnswers.ts';
import { type Attention, attentionCodes, type OverviewAnswer } from './answers/overviewAnswers.ts';
import type { OpsParts } from './opsParts.ts';
import { pauseView } from './pauseCalls.ts';
import { summarize } from './summary.ts';

/** Dashboards that are open ask every few seconds: all of an instance share an answer this old, in milliseconds. */
const freshMs = 2_000;
/** The same for messages that were given up, which another service has to be asked for. */
const deadLettersMs = 10_000;
const mostDeadLetters = 100;
const latestRuns = 5;

/**
 * Everything that the first page of the dashboard shows, in one answer. Whether payments are paused is always asked, so that
 * an operator who has just paused them sees it.
 */
export function overviewOf(parts: OpsParts): () => Promise<OverviewAnswer> {
  const { invoiceCounts, deadLetters, lockStore, job, runs, pauses, instance } = parts;
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
        summarize(parts),
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

  /** Number of leases of jobs that are held, and that are known; null if the store cannot list them. */
  async function heldLeases(): Promise<{ held: number; known: number } | null> {
    const locks = await listLocks(lockStore, { prefix: jobLockPrefix, clock });
    if (locks === undefined) return null;
    return { held: locks.filter(({ held }) => held).length, known: locks.length };
  }
}

/** Age of a due date that is an alarm while no invoice is being paid (s). */
const tooLongDue = 900;

/** Decides by the figures at `now` (milliseconds). Pure. */
export function attentionOf(
  { invoices, outbox, staleClaims, overdueRefunds, openDisputes, backlog, pace }: Summary,
  deadLetters: readonly { at: string | null }[],
  now: number,
): Attention[] {
  const nothingPaid = backlog.oldestSeconds > tooLongDue && (pace.charges?.usedPerSecond ?? 0) === 0;
  const dueSince = new Date(now - backlog.oldestSeconds * 1000).toISOString();
  const firstGivenUp = deadLetters.flatMap(({ at }) => at ?? []).toSorted()[0] ?? null;
  const found: Record<Attention['code'], [count: number, since: string | null]> = {
    'nothing-paid': nothingPaid ? [backlog.waiting, dueSince] : [0, null],
    disputes: [openDisputes.reduce((sum, { count }) => sum + count, 0), null],
    'refunds-overdue': [overdueRefunds, null],
    'dead-letters': [deadLetters.length, firstGivenUp],
    'outbox-parked': [outbox.parked, null],
    'invoices-parked': [invoices.parked, null],
    'stale-claims': [staleClaims, null],
  };
  return attentionCodes.flatMap((code) => {
    const [count, since] = found[code];
    return count === 0 ? [] : [{ code, count, since }];
  });
}

const hourMs = 3_600_000;
/** After this time nobody records a payment of an hour that is over, in milliseconds: clocks differ by less. */
const settledMs = 600_000;

/** Counts the invoices paid in each of the last `hours`, oldest first; the last one is not over yet. Those that are over are counted once and kept, so that a look later reads an hour or two. */
export function paidPerHour(invoiceCounts: Pick<InvoiceCounts, 'paidByHour'>, hours = 24) {
  const kept = new Map<string, number>();
  return async (now: number): Promise<OverviewAnswer['paidPerHour']> => {
    const last = Math.floor(now / hourMs) * hourMs;
    const begins = Array.from({ length: hours }, (_, index) => last - (hours - 1 - index) * hourMs);
    const from = begins.find((begin) => !kept.has(nameOf(begin))) ?? last;
    const counted = await invoiceCounts.paidByHour({
      from: new Date(from).toISOString(),
      to: new Date(last + hourMs).toISOString(),
    });
    for (const name of kept.keys()) if (name < nameOf(begins[0] ?? last)) kept.delete(name);
    return begins.map((begin) => {
      const name = nameOf(begin);
      const count = kept.get(name) ?? counted.get(name) ?? 0;
      if (begin + hourMs + settledMs < now) kept.set(name, count);
      return { hour: new Date(begin).toISOString(), count };
    });
  };
}

/** `2026-01-31T14` */
function nameOf(time: number): string {
  return new Date(time).toISOString().slice(0, 13);
}

/** Reasons that a person is shown. */
const mostReasons = 8;

/**
 * Parked invoices by the first words of their reasons, most first: what follows a colon differs from one to the next, and what
 * follows a semicolon is advice. What
 * is beyond the most frequent reasons is one more line. Pure.
 */
export function parkedReasons(byReason: ReadonlyMap<string, number>): OverviewAnswer['parkedReasons'] {
  const counts = new Map<string, number>();
  for (const [text, count] of byReason) {
    const reason = text.split(/[:;] /)[0] ?? text;
    counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  const sorted = [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  if (sorted.length <= mostReasons) return sorted;
  const others = sorted.slice(mostReasons).reduce((sum, { count }) => sum + count, 0);
  return [...sorted.slice(0, mostReasons), { reason: 'other reasons', count: others }];
}
