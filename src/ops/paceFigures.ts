import type { Backlog, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { PaceStore } from '../pacing/paceStore.ts';
import type { Schedule } from '../pacing/schedule.ts';
import { paceLimits } from '../platform/azureNames.ts';

/** How one limit of the payment provider is used. */
export interface PaceFigures {
  /** Calls per second that all instances may make now. */
  allowedPerSecond: number;
  /** Calls per second in the last window of some seconds; 0 if there was none lately. */
  usedPerSecond: number;
  /** Of those calls, the share that the provider refused because there were too many. */
  refusedShare: number;
  /** How long the next call has to wait for its turn, in seconds. */
  waitSeconds: number;
}

export interface BacklogFigures {
  /** Due and not claimed. */
  waiting: number;
  claimed: number;
  /** How long the first of those that wait has been due. */
  oldestSeconds: number;
  /** How long it takes to pay them all at the present pace; null while nothing is being paid and nobody has paid yet. */
  estimatedSeconds: number | null;
}

/** A window that ended longer ago than this, in milliseconds, says nothing about now. */
const lateMs = 60_000;

/** What a schedule says at `now` (milliseconds). Pure. */
export function paceFigures(schedule: Schedule, now: number): PaceFigures {
  const { pace, next, at, last } = schedule;
  const { rate, refusedShare } = now - at > lateMs ? { rate: 0, refusedShare: 0 } : last;
  return {
    allowedPerSecond: rounded(pace),
    usedPerSecond: rounded(rate),
    refusedShare: rounded(refusedShare),
    waitSeconds: rounded(Math.max(0, next - now) / 1000),
  };
}

/** What a backlog means at `now` (milliseconds). Pure. */
export function backlogFigures(
  { waiting, claimed, since }: Backlog,
  charges: PaceFigures | null,
  now: number,
): BacklogFigures {
  const perSecond = charges === null ? 0 : charges.usedPerSecond || charges.allowedPerSecond;
  const all = waiting + claimed;
  return {
    waiting,
    claimed,
    oldestSeconds: since === undefined ? 0 : Math.max(0, Math.round((now - Date.parse(since)) / 1000)),
    estimatedSeconds: all === 0 ? 0 : perSecond === 0 ? null : Math.ceil(all / perSecond),
  };
}

/** How the payments keep up, at `now` (milliseconds). @throws {StoreAway} */
export async function readPace(
  { invoices, pace }: { invoices: Pick<InvoiceStore, 'backlog'>; pace: PaceStore },
  now: number,
): Promise<{ pace: Record<keyof typeof paceLimits, PaceFigures | null>; backlog: BacklogFigures }> {
  const [backlog, charges, lookups] = await Promise.all([
    invoices.backlog(new Date(now).toISOString()),
    figuresOf(paceLimits.charges),
    figuresOf(paceLimits.lookups),
  ]);
  return { pace: { charges, lookups }, backlog: backlogFigures(backlog, charges, now) };

  async function figuresOf(limit: string): Promise<PaceFigures | null> {
    const schedule = await pace.read(limit);
    return schedule === undefined ? null : paceFigures(schedule, now);
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
