import { readableDocuments } from '../../documents/storedDocuments.ts';
import { invoiceStatuses } from '../invoiceStatus.ts';
import { shardNames } from '../shard.ts';
import type { Backlog, InvoiceFigures, ReversedFigure } from '../store/invoiceStore.ts';
import { type MovementKind, movementKinds } from '../store/movements.ts';
import { addAll, type Counts, countName } from './contribution.ts';
import { dayFiguresSchema, isCounted, type StandingFigures, standingSchema } from './figureDocument.ts';
import type { FigureReads } from './figureReads.ts';

/** What a currency moved on a day. */
export interface DayFigure {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  currency: string;
  kind: MovementKind;
  count: number;
  amountMinor: number | bigint;
}

/** The shards whose figures can be relied on, and the others, whose invoices have to be counted. */
async function readStanding(reads: FigureReads, shards: number) {
  const documents = await reads.standing();
  const kept = readableDocuments(documents, standingSchema, 'figures').filter(isCounted);
  const names = new Set(kept.map(({ shard }) => shard));
  return { kept, uncounted: shardNames(shards).filter((shard) => !names.has(shard)) };
}

/** See `InvoiceStore.figures`. */
export async function readFigures(reads: FigureReads, shards: number, now: string): Promise<InvoiceFigures> {
  const [{ kept, uncounted }, staleClaims] = await Promise.all([
    readStanding(reads, shards),
    reads.staleClaims(now),
  ]);
  const counts = sumOf(kept);
  const rest = uncounted.length === 0 ? undefined : await reads.count(uncounted);
  const byStatus = new Map<string, number>(rest?.byStatus);
  for (const status of invoiceStatuses) {
    const n = counts.get(status) ?? 0;
    if (n !== 0) byStatus.set(status, (byStatus.get(status) ?? 0) + n);
  }
  return {
    byStatus,
    staleClaims,
    charges: (counts.get(countName.charges) ?? 0) + (rest?.charges ?? 0),
    refunded: reversed(counts, 'refunded', rest?.refunded),
    openDisputes: reversed(counts, 'openDisputes', rest?.openDisputes),
  };
}

/** See `InvoiceStore.backlog`. Only what is due near the horizon is counted one by one. */
export async function readBacklog(reads: FigureReads, shards: number, now: string): Promise<Backlog> {
  const [{ kept, uncounted }, staleClaims, since] = await Promise.all([
    readStanding(reads, shards),
    reads.staleClaims(now),
    reads.waitingSince(now),
  ]);
  const [near, others] = await Promise.all([
    Promise.all(
      [...Map.groupBy(kept, ({ horizon }) => horizon)].map(([horizon, of]) => dueNear(horizon, of)),
    ),
    uncounted.length === 0 ? undefined : countOthers(),
  ]);
  const counts = sumOf(kept);
  const due = near.reduce((sum, n) => sum + n, counts.get(countName.due) ?? 0);
  return {
    waiting: due + (others?.due ?? 0) + staleClaims,
    claimed: Math.max(0, (counts.get('claimed') ?? 0) + (others?.claimed ?? 0) - staleClaims),
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

  async function countOthers(): Promise<{ due: number; claimed: number }> {
    const [due, { byStatus }] = await Promise.all([
      reads.pending({ shards: uncounted, before: after(now) }),
      reads.count(uncounted),
    ]);
    return { due, claimed: byStatus.get('claimed') ?? 0 };
  }
}

/** The next millisecond. */
function after(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}

/**
 * What was moved on each of these days (`YYYY-MM-DD`, both included), over all shards; undefined if the figures cannot be
 * relied on, or a sum is too large to be exact.
 */
export async function readDays(
  reads: FigureReads,
  shards: number,
  { from, to }: { from: string; to: string },
): Promise<DayFigure[] | undefined> {
  const [{ uncounted }, documents] = await Promise.all([
    readStanding(reads, shards),
    reads.days({ from, to }),
  ]);
  if (uncounted.length > 0) return undefined;
  const days = documents.map((document) => dayFiguresSchema.parse(document));
  const figures = days.flatMap(({ day, counts }) => figuresOf(day, counts));
  return figures.every(({ amountMinor }) => Number.isSafeInteger(amountMinor)) ? figures : undefined;
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

function sumOf(kept: readonly StandingFigures[]): Counts {
  const sum: Counts = new Map();
  for (const { counts } of kept) addAll(sum, new Map(Object.entries(counts)));
  return sum;
}

function reversed(
  counts: Counts,
  kind: 'refunded' | 'openDisputes',
  counted: readonly ReversedFigure[] = [],
): ReversedFigure[] {
  const found = new Map(counted.map((figure) => [figure.currency, figure]));
  for (const [name, count] of counts) {
    const currency = name.slice(kind.length + 1);
    if (count === 0 || name !== countName[kind](currency)) continue;
    const amountMinor = counts.get(countName[`${kind}Minor`](currency)) ?? 0;
    const before = found.get(currency) ?? { count: 0, amountMinor: 0 };
    found.set(currency, {
      currency,
      count: before.count + count,
      amountMinor: before.amountMinor + amountMinor,
    });
  }
  return [...found.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
