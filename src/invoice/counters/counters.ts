import {
  type DocumentStore,
  keepFirst,
  type Operation,
  type Patch,
  refusedBecause,
  StoreAway,
  systemId,
  tolerantObject,
} from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import { z } from 'zod';
import type { Invoice } from '../invoice.ts';
import { atRisk, goneBack, overdueRefunds, type Reversals } from '../reversals.ts';

/**
 * The counters of a shard, in documents beside its invoices so that one transaction changes both:
 *
 *   :figures              how many invoices there are in each status, and the like
 *   :figures:2026-01-31   what was paid, declined, refunded and disputed on a day (UTC)
 *
 * Each has two maps of the same counts: `counts` of the invoices in the database, and `archived` of those in the archive.
 * Writers only add to the counts, so no two of them conflict. The first writer creates a document. One that somebody has
 * removed begins at zero: a recount puts `counts` right. One that cannot be read has to be removed first.
 */

export const standingId = systemId('figures');

/** The id of the counters of a day (`YYYY-MM-DD`). Ids of several days sort as the days do. */
export function dayId(day: string): string {
  return `${standingId}:${day}`;
}

const countsSchema = z.record(z.string(), z.number());
const counted = { counts: countsSchema, archived: countsSchema };

export const standingSchema = tolerantObject({
  id: z.literal(standingId),
  shard: z.string(),
  ...counted,
  /** The count `due` has the pending invoices that are due before this time: ISO 8601, UTC. The sweeper moves it on. */
  horizon: z.string(),
  _etag: z.string(),
});
export type StandingCounters = z.infer<typeof standingSchema>;

export const dayCountersSchema = tolerantObject({
  id: z.string().startsWith(`${standingId}:`),
  shard: z.string(),
  day: z.string(),
  ...counted,
  _etag: z.string(),
});

/** Distance between two horizons (ms). Due dates on the full five minutes are never counted one by one. */
const stepMs = 300_000;

/** The horizon at `now` (milliseconds): ISO 8601. Between the two at most five minutes are counted one by one. */
export function horizonAt(now: number): string {
  return new Date((Math.floor(now / stepMs) + 1) * stepMs).toISOString();
}

/** The counters of a shard as they are first stored, at `now` (milliseconds). */
export function newStanding(shard: string, now: number) {
  return { id: standingId, shard, type: 'figures', counts: {}, archived: {}, horizon: horizonAt(now) };
}

export function newDay(shard: string, day: string, counts: Readonly<Record<string, number>> = {}) {
  return { id: dayId(day), shard, type: 'figures', day, counts, archived: {} };
}

/** As much of an invoice as its counters depend on. */
export type Countable = Pick<Invoice, 'id' | 'currency' | 'amountMinor' | 'status'> &
  Partial<Pick<Invoice, 'actionableAt' | 'payment' | 'declinedAt' | 'reversals' | 'archivedAt'>>;

export type Counters = Map<string, number>;

/**
 * The names of the counts. Those of a status are the status. They are names of properties, so they have no dot and no slash.
 *
 * `due` counts the pending invoices whose `actionableAt` is before the horizon of the document.
 */
export const countName = {
  due: 'due',
  charges: 'charges',
  overdueRefunds: 'overdueRefunds',
  /** Raised by each change: a document whose counts are the same may still have moved. */
  moves: 'moves',
  refunded: (currency: string) => `refunded_${currency}`,
  refundedMinor: (currency: string) => `refundedMinor_${currency}`,
  openDisputes: (currency: string) => `openDisputes_${currency}`,
  openDisputesMinor: (currency: string) => `openDisputesMinor_${currency}`,
  moved: (kind: ReportEntry['kind'], currency: string) => `${kind}_${currency}`,
  movedMinor: (kind: ReportEntry['kind'], currency: string) => `${kind}Minor_${currency}`,
} as const;

/**
 * Counts that an invoice adds to the counters as it is: to those of the shard, except for `due`, and to those of each day
 * (`YYYY-MM-DD`, UTC). Pure.
 */
export function invoiceCountsOf(invoice: Countable): { standing: Counters; days: Map<string, Counters> } {
  const { status, payment, reversals, currency } = invoice;
  const standing: Counters = new Map();
  const days = new Map<string, Counters>();
  add(standing, status, 1);
  if (payment?.id !== undefined) add(standing, countName.charges, 1);
  if (reversals !== undefined) addReversals(standing, reversals, currency);
  for (const { kind, at, amountMinor, currency: its } of reportEntriesOf(invoice)) {
    const day = at.slice(0, 10);
    const counts = days.get(day) ?? new Map();
    days.set(day, counts);
    add(counts, countName.moved(kind, its), 1);
    add(counts, countName.movedMinor(kind, its), amountMinor);
  }
  return { standing, days };
}

function addReversals(standing: Counters, reversals: Reversals, currency: string): void {
  if (reversals.refundedMinor > 0) {
    add(standing, countName.refunded(currency), 1);
    add(standing, countName.refundedMinor(currency), reversals.refundedMinor);
  }
  for (const { status, amountMinor, currency: its = currency } of reversals.disputes) {
    if (status !== 'open') continue;
    add(standing, countName.openDisputes(its), 1);
    add(standing, countName.openDisputesMinor(its), amountMinor);
  }
  const overdue = overdueRefunds(reversals).length;
  if (overdue > 0) add(standing, countName.overdueRefunds, overdue);
}

/** True for a pending invoice that is due before the horizon. Pure. */
export function isDueBefore({ status, actionableAt }: Countable, horizon: string): boolean {
  return status === 'pending' && actionableAt !== undefined && actionableAt < horizon;
}

/** Adds a number to a count. */
export function add(counts: Counters, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/**
 * Kinds of entries in a report. `disputed` is every dispute that is open or lost, by the day on which it was opened;
 * `disputeLost` those of them that are lost.
 */
export const reportKinds = ['paid', 'declined', 'refunded', 'disputed', 'disputeLost'] as const;
export type ReportKind = (typeof reportKinds)[number];

/** An amount of one invoice, and when (ISO 8601, UTC) it moved, or was refused. */
export interface ReportEntry {
  kind: ReportKind;
  at: string;
  amountMinor: number;
  currency: string;
}

/** All report entries of an invoice as it is. Pure. */
export function reportEntriesOf(invoice: Omit<Countable, 'id'>): ReportEntry[] {
  const { status, amountMinor, currency, payment, declinedAt, reversals } = invoice;
  const own: ReportEntry[] = [];
  if (payment?.paidAt !== undefined) own.push({ kind: 'paid', at: payment.paidAt, amountMinor, currency });
  if (status === 'declined' && declinedAt !== undefined)
    own.push({ kind: 'declined', at: declinedAt, amountMinor, currency });
  if (reversals === undefined) return own;
  const part = (kind: ReportKind, of: { at: string; amountMinor: number; currency?: string }) => ({
    kind,
    at: of.at,
    amountMinor: of.amountMinor,
    currency: of.currency ?? currency,
  });
  const disputes = atRisk(reversals.disputes);
  const lost = disputes.filter((dispute) => dispute.status === 'lost');
  return [
    ...own,
    ...(reversals.payments ?? []).map((one) => part('paid', one)),
    ...goneBack(reversals.refunds).map((one) => part('refunded', one)),
    ...disputes.map((one) => part('disputed', one)),
    ...lost.map((one) => part('disputeLost', one)),
  ];
}

/** An invoice before and after a write. Without `before` it is new. One with `archivedAt` counts as archived. */
export interface Change {
  before?: Countable;
  after: Countable;
}

const movesPath = `counts.${countName.moves}`;
/** Counts in one patch: Cosmos takes ten operations (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
export const mostIncrements = 9;

/**
 * The patches of the counters of a shard for these changes; none if they change no count. The horizon may be old: it is
 * a condition of the write. Pure.
 */
export function counterPatches(
  { horizon }: Pick<StandingCounters, 'horizon'>,
  changes: readonly Change[],
): Patch[] {
  const standing: Counters = new Map();
  const days = new Map<string, Counters>();
  for (const { before, after } of changes) {
    if (before !== undefined) count(before, -1);
    count(after, 1);
  }
  const moved = changes.filter(({ before, after }) => placeOf(before) !== placeOf(after));
  const waits = changes.some(
    ({ before, after }) => before?.status === 'pending' || after.status === 'pending',
  );
  const ofDays = [...days].flatMap(([day, counts]) => patchesOf(dayId(day), counts, 0));
  const moves = ofDays.length === 0 ? moved.length : Math.max(1, moved.length);
  const ofStanding = patchesOf(standingId, standing, moves).map((patch, place) =>
    place > 0 || !waits
      ? patch
      : { ...patch, where: [{ path: 'horizon', is: '=' as const, value: horizon }] },
  );
  return [...ofStanding, ...ofDays];

  function count(invoice: Countable, times: 1 | -1): void {
    const own = invoiceCountsOf(invoice);
    const map = invoice.archivedAt === undefined ? 'counts' : 'archived';
    for (const [name, n] of own.standing) add(standing, `${map}.${name}`, n * times);
    if (isDueBefore(invoice, horizon)) add(standing, `${map}.${countName.due}`, times);
    for (const [day, counts] of own.days) {
      const sum = days.get(day) ?? new Map();
      days.set(day, sum);
      for (const [name, n] of counts) add(sum, `${map}.${name}`, n * times);
    }
  }
}

/** Differs between two states of an invoice that may count as something else, now or at another horizon. */
function placeOf(invoice: Countable | undefined): string | undefined {
  return invoice?.status === 'pending' ? `pending ${invoice.actionableAt}` : invoice?.status;
}

/** The patches that add these counts to a document; none if nothing has changed and nothing `moves`. */
function patchesOf(id: string, counts: Counters, moves: number): Patch[] {
  const changed = [...counts].filter(([, by]) => by !== 0);
  if (changed.length === 0 && moves === 0) return [];
  const increments: [string, number][] = [[movesPath, Math.max(1, moves)], ...changed];
  const patches: Patch[] = [];
  for (let from = 0; from < increments.length; from += mostIncrements) {
    patches.push({
      kind: 'patch',
      id,
      increment: Object.fromEntries(increments.slice(from, from + mostIncrements)),
    });
  }
  return patches;
}

export type CounterKeeper = ReturnType<typeof counterKeeper>;

/** Changes the counters in the transaction that changes the invoices, so that neither is ever there without the other. */
export function counterKeeper({ documents, clock }: { documents: DocumentStore; clock: Clock }) {
  /** Horizon of each shard where the one of the clock was refused. May be old: it is a condition of each write. */
  const horizons = new Map<string, string>();

  return {
    /**
     * The operations of a transaction that patches these invoices: the patches, and those of the counters. `before` has the
     * invoices as they were read, or as the conditions of the patches say they are.
     */
    patching(shard: string, patches: readonly Patch[], before: readonly Countable[]): Operation[] {
      const byId = new Map(before.map((invoice) => [invoice.id, invoice]));
      const changes = patches.flatMap(({ id, set = {}, remove = [] }) => {
        const invoice = byId.get(id);
        if (invoice === undefined) return [];
        const kept = Object.entries(invoice).filter(([field]) => !remove.includes(field));
        return [{ before: invoice, after: { ...Object.fromEntries(kept), ...set } as Countable }];
      });
      return [...patches, ...moving(shard, changes)];
    },

    /** The same of one that creates these invoices. */
    creating(shard: string, invoices: readonly Countable[]): Operation[] {
      const creates = invoices.map((document) => ({ kind: 'create' as const, document }));
      const changes = invoices.map((after) => ({ after }));
      return [...creates, ...moving(shard, changes)];
    },

    /**
     * Prepares the next try of a refused transaction: creates a document of the counters that is missing, or reads the horizon
     * anew.
     */
    async refused(shard: string, operations: readonly Operation[], codes: readonly number[]): Promise<void> {
      const at = codes.findIndex(
        (code) => code === refusedBecause.missing || code === refusedBecause.changed,
      );
      const operation = operations[at];
      if (operation?.kind !== 'patch') return;
      const isDay = operation.id.startsWith(dayId(''));
      if (!isDay && operation.id !== standingId) return;
      try {
        if (isDay) await createDays(documents, shard, operations);
        else horizons.set(shard, (await standingOf(documents, shard, clock.now())).horizon);
      } catch (error) {
        // The next try of the transaction meets the same refusal.
        if (!(error instanceof StoreAway && error.reason === 'noAnswer')) throw error;
      }
    },
  };

  function moving(shard: string, changes: readonly Change[]): Patch[] {
    return counterPatches({ horizon: horizons.get(shard) ?? horizonAt(clock.now()) }, changes);
  }
}

/** The counters of a shard. The first to ask, at `now` (milliseconds), creates them. @throws {StoreAway} */
export async function standingOf(
  documents: DocumentStore,
  shard: string,
  now: number,
): Promise<StandingCounters> {
  const [stored] = await documents.read(shard, [standingId]);
  if (stored !== undefined) return standingSchema.parse(stored);
  await keepFirst(documents, newStanding(shard, now));
  const [created] = await documents.read(shard, [standingId]);
  return standingSchema.parse(created);
}

/** Creates the counters of the days that these operations change, unless they are there. @throws {StoreAway} */
export async function createDays(
  documents: DocumentStore,
  shard: string,
  operations: readonly Operation[],
): Promise<void> {
  const days = operations.flatMap((one) =>
    one.kind === 'patch' && one.id.startsWith(dayId('')) ? [one.id.slice(dayId('').length)] : [],
  );
  for (const day of new Set(days)) await keepFirst(documents, newDay(shard, day));
}
