import { type OnUnreadable, readableDocuments } from '../../documents/storedDocuments.ts';
import { invoiceStatuses } from '../invoiceStatus.ts';
import type { Backlog, InvoiceFigures, ReversedFigure } from '../store/invoiceStore.ts';
import { type MovementKind, movementKinds } from '../store/movements.ts';
import { addAll, type Counts, countName } from './contribution.ts';
import { dayFiguresSchema, type StandingFigures, standingSchema } from './figureDocument.ts';
import type { FigureReads } from './figureReads.ts';

/** What a currency moved on a day. */
export interface DayFigure {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  currency: string;
  kind: MovementKind;
  count: number;
  amountMinor: number;
}

async function readStanding(reads: FigureReads, onUnreadable?: OnUnreadable): Promise<StandingFigures[]> {
  return readableDocuments(await reads.standing(), standingSchema, 'figures', onUnreadable);
}

/** See `InvoiceStore.figures`. */
export async function readFigures(
  reads: FigureReads,
  now: string,
  onUnreadable?: OnUnreadable,
): Promise<InvoiceFigures> {
  const [standing, staleClaims] = await Promise.all([
    readStanding(reads, onUnreadable),
    reads.staleClaims(now),
  ]);
  const archived = sumOf(standing, ['archived']);
  const counts = sumOf(standing, ['counts', 'archived']);
  const byStatus = new Map<string, number>();
  for (const status of invoiceStatuses) {
    const n = counts.get(status) ?? 0;
    if (n !== 0) byStatus.set(status, n);
  }
  return {
    byStatus,
    staleClaims,
    charges: counts.get(countName.charges) ?? 0,
    overdueRefunds: counts.get(countName.overdueRefunds) ?? 0,
    refunded: reversed(counts, 'refunded'),
    openDisputes: reversed(counts, 'openDisputes'),
    archived: invoiceStatuses.reduce((sum, status) => sum + (archived.get(status) ?? 0), 0),
  };
}

/** See `InvoiceStore.backlog`. Only what is due near the horizon is counted one by one. */
export async function readBacklog(reads: FigureReads, now: string): Promise<Backlog> {
  const [standing, staleClaims, since] = await Promise.all([
    readStanding(reads),
    reads.staleClaims(now),
    reads.waitingSince(now),
  ]);
  const near = await Promise.all(
    [...Map.groupBy(standing, ({ horizon }) => horizon)].map(([horizon, of]) => dueNear(horizon, of)),
  );
  const counts = sumOf(standing, ['counts']);
  const due = near.reduce((sum, n) => sum + n, counts.get(countName.due) ?? 0);
  return {
    waiting: due + staleClaims,
    claimed: Math.max(0, (counts.get('claimed') ?? 0) - staleClaims),
    ...(since === undefined ? {} : { since }),
  };

  /** How many more are due at `now` than at the horizon. */
  async function dueNear(horizon: string, of: readonly StandingFigures[]): Promise<number> {
    const names = of.map(({ shard }) => shard);
    // `now` itself is due.
    const next = after(now);
    if (next === horizon) return 0;
    const [from, before] = [next, horizon].toSorted() as [string, string];
    const between = await reads.pending({ shards: names, from, before });
    return next > horizon ? between : -between;
  }
}

/** The next millisecond. */
function after(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}

/** Movements of each shard on each of these days (`YYYY-MM-DD`, both included). Documents that cannot be read are passed over. */
export async function readDays(
  reads: FigureReads,
  { from, to }: { from: string; to: string },
  onUnreadable?: OnUnreadable,
): Promise<{ figures: DayFigure[]; unreadable: number }> {
  const stored = await reads.days({ from, to });
  const days = readableDocuments(stored, dayFiguresSchema, 'figures', onUnreadable);
  const figures = days.flatMap(({ day, counts, archived }) => [
    ...figuresOf(day, counts),
    ...figuresOf(day, archived),
  ]);
  return { figures, unreadable: stored.length - days.length };
}

function figuresOf(day: string, counts: Readonly<Record<string, number>>): DayFigure[] {
  return movementKinds.flatMap((kind) =>
    Object.entries(counts).flatMap(([name, count]) => {
      const currency = name.slice(kind.length + 1);
      if (count === 0 || name !== countName.moved(kind, currency)) return [];
      return [{ day, currency, kind, count, amountMinor: counts[countName.movedMinor(kind, currency)] ?? 0 }];
    }),
  );
}

function sumOf(standing: readonly StandingFigures[], maps: readonly ('counts' | 'archived')[]): Counts {
  const sum: Counts = new Map();
  for (const figures of standing) for (const map of maps) addAll(sum, Object.entries(figures[map]));
  return sum;
}

function reversed(counts: Counts, kind: 'refunded' | 'openDisputes'): ReversedFigure[] {
  return [...counts]
    .flatMap(([name, count]) => {
      const currency = name.slice(kind.length + 1);
      if (count === 0 || name !== countName[kind](currency)) return [];
      return [{ currency, count, amountMinor: counts.get(countName[`${kind}Minor`](currency)) ?? 0 }];
    })
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
