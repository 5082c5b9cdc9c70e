import {
  type DocumentStore,
  NewerVersion,
  type OnUnreadable,
  type Operation,
  isNewer,
  patience,
  readableDocuments,
  writeUntilClear,
} from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import { z } from 'zod';
import { invoiceSchema } from '../invoice.ts';
import { invoiceStatuses } from '../invoiceStatus.ts';
import type {
  Backlog,
  Correction,
  DayCount,
  StandingCounts,
  InvoiceStore,
  Recounted,
  ReversedCount,
} from '../store/invoiceStore.ts';
import {
  add,
  type Counters,
  invoiceCountsOf,
  countName,
  dayCountersSchema,
  dayId,
  horizonAt,
  isDueBefore,
  reportKinds,
  newDay,
  newStanding,
  type StandingCounters,
  standingId,
  standingOf,
  standingSchema,
} from './counters.ts';

/** The counters of an invoice store, on whatever keeps the documents. */
export function invoiceCounters({
  documents,
  reads,
  clock,
  onUnreadable,
}: {
  documents: DocumentStore;
  reads: CounterReads;
  clock: Clock;
  onUnreadable?: OnUnreadable | undefined;
}): Pick<InvoiceStore, 'counts' | 'backlog' | 'dayCounts' | 'recount' | 'moveHorizons'> {
  const parts = { documents, reads, now: () => clock.now() };
  return {
    counts: (now) => readCounts(reads, now, onUnreadable),
    backlog: (now) => readBacklog(reads, now),
    dayCounts: (days) => readDays(reads, days, onUnreadable),
    recount: (shard) => recountShard(parts, shard),
    moveHorizons: (signal) => moveHorizons(parts, signal),
  };
}

/** Queries behind the counters. All may reject with `StoreAway`. */
export interface CounterReads {
  /** The documents of the shards' counters, as they are stored; of all shards. */
  standing(): Promise<unknown[]>;
  /** Counters of the days from one to another (`YYYY-MM-DD`), both included: of one shard or of all. Absent: of all days. */
  days(query: { from?: string; to?: string; shard?: string }): Promise<unknown[]>;
  /** Pending invoices of these shards whose `actionableAt` is at `from` or later, and before `before`. */
  pending(query: { shards: readonly string[]; from?: string; before: string }): Promise<number>;
  /** Claims of all shards that are stale at `now` (ISO 8601, UTC). */
  staleClaims(now: string): Promise<number>;
  /** Time (ISO 8601) from which the first of the invoices that are due at `now` has been waiting; undefined if none is. */
  waitingSince(now: string): Promise<string | undefined>;
  /** All invoices of a shard, page by page, as far as counters depend on them. */
  all(shard: string): AsyncIterable<readonly unknown[]>;
}

interface CounterParts {
  documents: DocumentStore;
  reads: CounterReads;
  /** Milliseconds. */
  now: () => number;
}

async function readStanding(reads: CounterReads, onUnreadable?: OnUnreadable): Promise<StandingCounters[]> {
  return readableDocuments(await reads.standing(), standingSchema, 'figures', onUnreadable);
}

/** See `InvoiceStore.counts`. */
export async function readCounts(
  reads: CounterReads,
  now: string,
  onUnreadable?: OnUnreadable,
): Promise<StandingCounts> {
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
export async function readBacklog(reads: CounterReads, now: string): Promise<Backlog> {
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

  /** Number of invoices due at `now` less those due at the horizon. */
  async function dueNear(horizon: string, of: readonly StandingCounters[]): Promise<number> {
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

/** Report entries of each shard on each of these days (`YYYY-MM-DD`, both included). Documents that cannot be read are passed over. */
export async function readDays(
  reads: CounterReads,
  { from, to }: { from: string; to: string },
  onUnreadable?: OnUnreadable,
): Promise<{ counts: DayCount[]; unreadable: number }> {
  const stored = await reads.days({ from, to });
  const days = readableDocuments(stored, dayCountersSchema, 'figures', onUnreadable);
  const all = days.flatMap(({ day, counts, archived }) => [
    ...dayCountsOf(day, counts),
    ...dayCountsOf(day, archived),
  ]);
  return { counts: all, unreadable: stored.length - days.length };
}

function dayCountsOf(day: string, counts: Readonly<Record<string, number>>): DayCount[] {
  return reportKinds.flatMap((kind) =>
    Object.entries(counts).flatMap(([name, count]) => {
      const currency = name.slice(kind.length + 1);
      if (count === 0 || name !== countName.moved(kind, currency)) return [];
      return [{ day, currency, kind, count, amountMinor: counts[countName.movedMinor(kind, currency)] ?? 0 }];
    }),
  );
}

/** Adds counts to others. */
function addAll(to: Counters, counts: Iterable<readonly [string, number]>): void {
  for (const [name, n] of counts) add(to, name, n);
}

function sumOf(standing: readonly StandingCounters[], maps: readonly ('counts' | 'archived')[]): Counters {
  const sum: Counters = new Map();
  for (const counters of standing) for (const map of maps) addAll(sum, Object.entries(counters[map]));
  return sum;
}

function reversed(counts: Counters, kind: 'refunded' | 'openDisputes'): ReversedCount[] {
  return [...counts]
    .flatMap(([name, count]) => {
      const currency = name.slice(kind.length + 1);
      if (count === 0 || name !== countName[kind](currency)) return [];
      return [{ currency, count, amountMinor: counts.get(countName[`${kind}Minor`](currency)) ?? 0 }];
    })
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** No total can be relied on that leaves it out. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';

  constructor(id: string, options: ErrorOptions) {
    super(`document ${id} cannot be read, so the totals would lack it`, options);
  }
}

const { shape } = invoiceSchema;
const countableSchema = z.object({
  id: shape.id,
  currency: shape.currency,
  amountMinor: z.int(),
  status: shape.status,
  actionableAt: shape.actionableAt,
  payment: shape.payment,
  declinedAt: shape.declinedAt,
  reversals: shape.reversals,
});

/**
 * Counts the invoices of a shard, and corrects its counters. Nothing waits meanwhile: each document is written only if
 * no invoice has moved it since before the count began.
 *
 * @throws {NewerVersion} {UnreadableDocument} {StoreAway}
 */
export async function recountShard(
  { documents, reads, now }: CounterParts,
  shard: string,
): Promise<Recounted> {
  const replaced = await replaceUnreadable({ documents, reads, now }, shard);
  if (replaced === undefined) return { kind: 'busy' };
  const before = await standingOf(documents, shard, now());
  const days = new Map(
    (await reads.days({ shard })).map((document) => {
      const counters = dayCountersSchema.parse(document);
      return [counters.day, counters];
    }),
  );
  const standing: Counters = new Map();
  const moved = new Map<string, Counters>();
  let invoices = 0;
  for await (const page of reads.all(shard)) {
    for (const document of page) {
      count(document);
      invoices++;
    }
  }
  const corrections = [...replaced];
  for (const day of new Set([...days.keys(), ...moved.keys()])) {
    const stored = days.get(day);
    const wrong = differences(stored?.counts ?? {}, moved.get(day) ?? new Map());
    if (wrong.length === 0) continue;
    const counts = Object.fromEntries(moved.get(day) ?? []);
    const operation: Operation =
      stored === undefined
        ? { kind: 'create', document: newDay(shard, day, counts) }
        : { kind: 'patch', id: dayId(day), version: stored._etag, set: { counts } };
    if (!(await writeOnce(documents, shard, operation))) return { kind: 'busy' };
    corrections.push(...wrong.map((one) => ({ shard, day, ...one })));
  }
  const counts = Object.fromEntries(standing);
  const wrong = differences(before.counts, standing);
  const operation: Operation = { kind: 'patch', id: standingId, version: before._etag, set: { counts } };
  if (!(await writeOnce(documents, shard, operation))) return { kind: 'busy' };
  corrections.push(...wrong.map((one) => ({ shard, ...one })));
  return { kind: 'recounted', invoices, corrections };

  function count(document: unknown): void {
    const invoice = complete(document, countableSchema);
    const own = invoiceCountsOf(invoice);
    addAll(standing, own.standing);
    if (isDueBefore(invoice, before.horizon)) add(standing, countName.due, 1);
    for (const [day, counts] of own.days) {
      const sum = moved.get(day) ?? new Map();
      moved.set(day, sum);
      addAll(sum, counts);
    }
  }
}

const placeSchema = z.object({ id: z.string(), _etag: z.string() });

/**
 * Begins documents of the counters anew that cannot be read: somebody has edited them, or stored something else under their
 * ids. Undefined if one was changed meanwhile. @throws {NewerVersion} {StoreAway}
 */
async function replaceUnreadable(
  { documents, reads, now }: CounterParts,
  shard: string,
): Promise<Correction[] | undefined> {
  const replaced: Correction[] = [];
  for (const stored of [...(await documents.read(shard, [standingId])), ...(await reads.days({ shard }))]) {
    const { id, _etag: version } = placeSchema.parse(stored);
    const isStanding = id === standingId;
    if ((isStanding ? standingSchema : dayCountersSchema).safeParse(stored).success) continue;
    if (isNewer(stored)) throw new NewerVersion(`document "${id}"`);
    const document = isStanding ? newStanding(shard, now()) : newDay(shard, id.slice(dayId('').length));
    if (!(await writeOnce(documents, shard, { kind: 'replace', document, version }))) return undefined;
    replaced.push({ shard, figure: `unreadable document ${id}`, was: 1, is: 0 });
  }
  return replaced;
}

/** A document that no total may lack. @throws {NewerVersion} {UnreadableDocument} */
function complete<T>(document: unknown, schema: z.ZodType<T>): T {
  const { data, error } = schema.safeParse(document);
  if (data !== undefined) return data;
  const id = z.object({ id: z.string() }).safeParse(document).data?.id ?? '';
  if (isNewer(document)) throw new NewerVersion(`document "${id}"`);
  throw new UnreadableDocument(JSON.stringify(id), { cause: error });
}

/** The counts that are not what they should be. That of the moves is none: it only rises. */
function differences(
  stored: Readonly<Record<string, number>>,
  counted: ReadonlyMap<string, number>,
): { figure: string; was: number; is: number }[] {
  const names = new Set([...Object.keys(stored), ...counted.keys()]);
  names.delete(countName.moves);
  return [...names].toSorted().flatMap((figure) => {
    const [was, is] = [stored[figure] ?? 0, counted.get(figure) ?? 0];
    return was === is ? [] : [{ figure, was, is }];
  });
}

/**
 * Moves the horizons of all shards on to `now` (milliseconds), so that few invoices are counted one by one: it counts those
 * that have become due since the sweep before. Stops at `signal`. @throws {StoreAway} after the other shards
 */
export async function moveHorizons(
  { documents, reads, now }: CounterParts,
  signal?: AbortSignal,
): Promise<void> {
  let failure: { error: unknown } | undefined;
  for (const counters of readableDocuments(await reads.standing(), standingSchema, 'figures')) {
    if (signal?.aborted === true) break;
    try {
      await moveHorizon(counters);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;

  /** Refused if an invoice of the shard has moved meanwhile: then the next sweep does. */
  async function moveHorizon({ shard, horizon, _etag: version }: StandingCounters): Promise<void> {
    const next = horizonAt(now());
    if (next <= horizon) return;
    const due = await reads.pending({ shards: [shard], from: horizon, before: next });
    const increment = {
      [`counts.${countName.moves}`]: 1,
      ...(due === 0 ? {} : { [`counts.${countName.due}`]: due }),
    };
    const set = { horizon: next };
    await writeOnce(documents, shard, { kind: 'patch', id: standingId, version, set, increment });
  }
}

/**
 * Makes one conditional write. False if another write broke the condition, or if there was no clear answer: the next sweep or
 * recount tries again. @throws {StoreAway} the store refuses the app as such
 */
export async function writeOnce(
  documents: DocumentStore,
  shard: string,
  operation: Operation,
): Promise<boolean> {
  const written = await writeUntilClear(
    { documents },
    {
      partition: shard,
      items: [operation],
      plan: (items) => items,
      reread: async () => undefined,
      keep: () => [],
    },
    patience.brief,
  );
  return written.kind === 'written';
}
