import { asShown, runView } from '@payonce/jobs/runs';
import { jobLockPrefix, listLocks } from '@payonce/leases';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type Attention, attentionCodes, type OverviewAnswer } from './answers/overviewAnswers.ts';
import type { Summary } from './answers/reportAnswers.ts';
import type { OpsParts } from './opsParts.ts';
import { summarize } from './summary.ts';

const mostDeadLetters = 100;
const latestRuns = 5;

export async function overviewOf(parts: OpsParts): Promise<OverviewAnswer> {
  const { invoices, deadLetters, lockStore, job, runs, instance } = parts;
  const { clock } = instance;
  const now = clock.now();
  const [summary, byReason, paid, letters, locks, latest] = await Promise.all([
    summarize(parts),
    invoices.parkedByReason(),
    paidPerDay(invoices, now),
    Promise.all(deadLetters.map((source) => source.list(mostDeadLetters))).then((lists) => lists.flat()),
    listLocks(lockStore, { prefix: jobLockPrefix, clock }),
    runs.list({ job: job.name, pageSize: latestRuns }),
  ]);
  return {
    at: new Date(now).toISOString(),
    attention: attentionOf(summary, letters, now),
    ...summary,
    parkedReasons: parkedReasons(byReason),
    paidPerDay: paid,
    deadLetters: letters.length,
    // The store of the locks may not be able to list them.
    leases:
      locks === undefined ? null : { held: locks.filter(({ held }) => held).length, known: locks.length },
    runs: latest.items.map((run) => runView(asShown(run, now))),
  };
}

/** Age of a due date that is an alarm while no invoice is being paid (s). */
const tooLongDue = 900;

/** Decides by the counts at `now` (milliseconds). Pure. */
export function attentionOf(
  { paused, invoices, outbox, staleClaims, overdueRefunds, openDisputes, backlog, pace }: Summary,
  deadLetters: readonly { at: string | null }[],
  now: number,
): Attention[] {
  // A pause says so by itself.
  const nothingPaid =
    paused === null && backlog.oldestSeconds > tooLongDue && (pace.charges?.usedPerSecond ?? 0) === 0;
  const dueSince = new Date(now - backlog.oldestSeconds * 1000).toISOString();
  const firstDeadLetter = deadLetters.flatMap(({ at }) => at ?? []).toSorted()[0] ?? null;
  const found: Record<Attention['code'], [count: number, since: string | null]> = {
    'nothing-paid': nothingPaid ? [backlog.waiting, dueSince] : [0, null],
    disputes: [openDisputes.reduce((sum, { count }) => sum + count, 0), null],
    'refunds-overdue': [overdueRefunds, null],
    'dead-letters': [deadLetters.length, firstDeadLetter],
    'outbox-parked': [outbox.parked, null],
    'invoices-parked': [invoices.parked, null],
    'invoices-declined': [invoices.declined, null],
    'stale-claims': [staleClaims, null],
  };
  return attentionCodes.flatMap((code) => {
    const [count, since] = found[code];
    return count === 0 ? [] : [{ code, count, since }];
  });
}

const dayMs = 86_400_000;
/** Days (UTC) of which the first page shows the payments. */
const daysShown = 14;

/** Invoices paid on each of the last days (UTC), oldest first; today is not over yet. */
async function paidPerDay(invoices: Pick<InvoiceStore, 'dayCounts'>, now: number) {
  const days = Array.from({ length: daysShown }, (_, index) =>
    new Date(now - (daysShown - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
  const [from = '', to = ''] = [days[0], days.at(-1)];
  const { counts } = await invoices.dayCounts({ from, to });
  const paid = counts.filter(({ kind }) => kind === 'paid');
  return days.map((day) => ({
    day,
    count: paid.reduce((sum, one) => sum + (one.day === day ? one.count : 0), 0),
  }));
}

const mostReasons = 8;

/**
 * Parked invoices by the first words of their reasons, most first: what follows a colon differs from one to the next, and what
 * follows a semicolon is advice. The rest is one more line. Pure.
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
