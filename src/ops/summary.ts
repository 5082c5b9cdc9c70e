import { oldestPendingMs } from '@payonce/jobs/outbox';
import { type PaceStore, type Schedule, inForce } from '@payonce/jobs/rate';
import { invoiceStatuses } from '../invoice/invoiceStatus.ts';
import type { Backlog, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { paceLimits } from '../platform/azureNames.ts';
import type { BacklogReport, PaceReport, Summary } from './answers/reportAnswers.ts';
import type { OpsParts } from './opsParts.ts';
import { pauseView } from './pauseCalls.ts';

type Parts = Pick<OpsParts, 'invoices' | 'pace' | 'pauses' | 'outbox' | 'instance'>;

export async function summarize(parts: Parts): Promise<Summary> {
  const { invoices, outbox, pauses, instance } = parts;
  const now = instance.clock.now();
  const [counted, pending, parked, oldest, paying, pause] = await Promise.all([
    invoices.counts(new Date(now).toISOString()),
    outbox.count({ status: 'pending' }),
    outbox.count({ status: 'parked' }),
    oldestPendingMs(outbox, now),
    readPace(parts, now),
    pauses.read(),
  ]);
  const { byStatus, refunded, openDisputes, archived: _, ...counts } = counted;
  const byName = invoiceStatuses.map((status) => [status, byStatus.get(status) ?? 0]);
  return {
    paused: pauseView(inForce(pause, now)),
    invoices: Object.fromEntries(byName) as Summary['invoices'],
    outbox: { pending, parked, oldestPendingSeconds: Math.round(oldest / 1000) },
    ...counts,
    refunded: [...refunded],
    openDisputes: [...openDisputes],
    ...paying,
  };
}

/** A window that ended longer ago than this, in milliseconds, says nothing about now. */
const lateMs = 60_000;

/** `now`: milliseconds. Pure. */
export function paceReport(schedule: Schedule, now: number): PaceReport {
  const { pace, next, at, last } = schedule;
  const { rate, refusedShare } = now - at > lateMs ? { rate: 0, refusedShare: 0 } : last;
  return {
    allowedPerSecond: rounded(pace),
    usedPerSecond: rounded(rate),
    refusedShare: rounded(refusedShare),
    waitSeconds: rounded(Math.max(0, next - now) / 1000),
  };
}

/** `now`: milliseconds. Pure. */
export function backlogReport(
  { waiting, claimed, since }: Backlog,
  charges: PaceReport | null,
  now: number,
): BacklogReport {
  const perSecond = charges === null ? 0 : charges.usedPerSecond || charges.allowedPerSecond;
  const all = waiting + claimed;
  return {
    waiting,
    claimed,
    oldestSeconds: since === undefined ? 0 : Math.max(0, Math.round((now - Date.parse(since)) / 1000)),
    estimatedSeconds: all === 0 ? 0 : perSecond === 0 ? null : Math.ceil(all / perSecond),
  };
}

/** Progress of the payments, at `now` (milliseconds). @throws {StoreAway} */
export async function readPace(
  { invoices, pace }: { invoices: Pick<InvoiceStore, 'backlog'>; pace: PaceStore },
  now: number,
): Promise<{ pace: Record<keyof typeof paceLimits, PaceReport | null>; backlog: BacklogReport }> {
  const [backlog, charges, lookups] = await Promise.all([
    invoices.backlog(new Date(now).toISOString()),
    paceOf(paceLimits.charges),
    paceOf(paceLimits.lookups),
  ]);
  return { pace: { charges, lookups }, backlog: backlogReport(backlog, charges, now) };

  async function paceOf(limit: string): Promise<PaceReport | null> {
    const schedule = await pace.read(limit);
    return schedule === undefined ? null : paceReport(schedule, now);
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
