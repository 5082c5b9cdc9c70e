import {
  type DocumentStore,
  type Operation,
  type Patch,
  refusedBecause,
} from '../../documents/documentStore.ts';
import { StoreAway } from '../../documents/storeAway.ts';
import { patience } from '../../documents/writeUntilClear.ts';
import { exponentialBackoff } from '../../platform/backoff.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  add,
  addAll,
  type Countable,
  type Counts,
  contributionOf,
  countName,
  isDueBefore,
  markOf,
  patched,
} from './contribution.ts';
import {
  dayId,
  isFigureId,
  newDay,
  newStanding,
  type StandingFigures,
  standingId,
  standingSchema,
} from './figureDocument.ts';

/** An invoice before and after a write. Without `before` it is new. */
export interface Change {
  before?: Countable;
  after: Countable;
  /** A release that does not count has written it last. */
  uncounted?: boolean;
}

/** Moves the figures in the transaction that changes the invoices, so that neither is ever there without the other. */
export interface FigureKeeper {
  /** Has to come before `operations` for a shard. @throws {StoreAway} */
  prepare(shard: string): Promise<void>;
  /**
   * The operations of a transaction that patches these invoices: the patches, each with the mark of what it counts as, and
   * what moves the figures. `before` has the invoices as they were read, or as the conditions of the patches say they are.
   */
  patching(shard: string, patches: readonly Patch[], before: readonly Countable[]): Operation[];
  /** The same of one that creates these invoices. */
  creating<T extends Countable>(shard: string, invoices: readonly T[]): Operation[];
  /** Has to be called with what was refused: a document of the figures may be missing, or its horizon have moved. */
  refused(shard: string, operations: readonly Operation[], codes: readonly number[]): Promise<void>;
}

/** Counts in one patch: Cosmos takes ten operations (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
const mostIncrements = 9;

export function figureKeeper({
  documents,
  clock,
  hasInvoices,
}: {
  documents: DocumentStore;
  clock: Clock;
  hasInvoices: (shard: string) => Promise<boolean>;
}): FigureKeeper {
  /** What is known of the shards. It may be old: the horizon is a condition of each write, and `countedAt` only rises. */
  const known = new Map<string, StandingFigures>();

  return {
    prepare,

    patching(shard, patches, before) {
      const byId = new Map(before.map((invoice) => [invoice.id, invoice]));
      const changes: Change[] = [];
      const marked = patches.map((patch) => {
        const invoice = byId.get(patch.id);
        if (invoice === undefined) return patch;
        const after = patched(invoice, patch);
        const mark = markOf(after);
        changes.push({ before: invoice, after, uncounted: invoice.counted !== markOf(invoice) });
        return mark === invoice.counted ? patch : { ...patch, set: { ...patch.set, counted: mark } };
      });
      return [...marked, ...moving(shard, changes)];
    },

    creating(shard, invoices) {
      const creates = invoices.map((invoice) => ({
        kind: 'create' as const,
        document: { ...invoice, counted: markOf(invoice) },
      }));
      return [
        ...creates,
        ...moving(
          shard,
          invoices.map((after) => ({ after })),
        ),
      ];
    },

    async refused(shard, operations, codes) {
      const at = codes.findIndex(
        (code) => code === refusedBecause.missing || code === refusedBecause.changed,
      );
      const operation = operations[at];
      if (operation?.kind !== 'patch' || !isFigureId(operation.id)) return;
      if (operation.id === standingId) {
        known.delete(shard);
        await prepare(shard);
        return;
      }
      const days = operations.flatMap((one) =>
        one.kind === 'patch' && one.id.startsWith(dayId('')) ? [one.id.slice(dayId('').length)] : [],
      );
      // One that is there already is refused. What gets no answer is missing again at the next try.
      for (const day of new Set(days)) await documents.transact(shard, [newDay(shard, day)]);
    },
  };

  async function prepare(shard: string): Promise<void> {
    if (known.has(shard)) return;
    const { tries, delayMs } = patience.thorough;
    for (let tried = 1; ; tried++) {
      try {
        known.set(shard, await readOrCreate(shard));
        return;
      } catch (error) {
        if (!(error instanceof StoreAway) || error.reason !== 'noAnswer' || tried === tries) throw error;
        await clock.sleep(exponentialBackoff(tried, delayMs));
      }
    }
  }

  async function readOrCreate(shard: string): Promise<StandingFigures> {
    const [stored] = await documents.read(shard, [standingId]);
    if (stored !== undefined) return standingSchema.parse(stored);
    const empty = !(await hasInvoices(shard));
    const answer = await documents.transact(shard, [newStanding(shard, { now: clock.now(), empty })]);
    const [created] = await documents.read(shard, [standingId]);
    if (created === undefined) throw new StoreAway('noAnswer', answer, `no figures in shard ${shard}`);
    return standingSchema.parse(created);
  }

  /** What moves the figures by these changes; nothing if they change no figure. */
  function moving(shard: string, changes: readonly Change[]): Patch[] {
    const figures = known.get(shard);
    if (figures === undefined) throw new Error(`the figures of shard ${shard} were not prepared`);
    const { horizon, countedAt = 0 } = figures;
    const standing: Counts = new Map();
    const days = new Map<string, Counts>();
    let moved = 0;
    let waits = false;
    let stale = false;
    for (const { before, after, uncounted = false } of changes) {
      const marks = before === undefined ? undefined : markOf(before);
      stale ||= uncounted && (before?._ts ?? -1) >= countedAt;
      waits ||= before?.status === 'pending' || after.status === 'pending';
      const of = [...(before === undefined ? [] : [[before, -1] as const]), [after, 1] as const];
      for (const [invoice, times] of of) {
        const contribution = contributionOf(invoice);
        addAll(standing, contribution.standing, times);
        if (isDueBefore(invoice, horizon)) add(standing, countName.due, times);
        for (const [day, counts] of contribution.days) {
          const sum = days.get(day) ?? new Map();
          days.set(day, sum);
          addAll(sum, counts, times);
        }
      }
      if (marks !== markOf(after)) moved++;
    }
    const ofDays = [...days].flatMap(([day, counts]) => {
      const increments = changed(counts);
      return increments.length === 0 ? [] : patchesOf(dayId(day), [...increments, [countName.moves, 1]]);
    });
    const increments = changed(standing);
    if (moved === 0 && increments.length === 0 && ofDays.length === 0 && !stale) return [];
    const [first, ...rest] = patchesOf(standingId, [[countName.moves, Math.max(1, moved)], ...increments]);
    if (first === undefined) return ofDays;
    return [
      {
        ...first,
        ...(waits ? { where: [{ path: 'horizon', is: '=' as const, value: horizon }] } : {}),
        ...(stale ? { set: { stale: true } } : {}),
      },
      ...rest,
      ...ofDays,
    ];
  }
}

function changed(counts: Counts): [string, number][] {
  return [...counts].filter(([, by]) => by !== 0);
}

function patchesOf(id: string, increments: readonly (readonly [string, number])[]): Patch[] {
  const patches: Patch[] = [];
  for (let from = 0; from < increments.length; from += mostIncrements) {
    const some = increments.slice(from, from + mostIncrements).map(([name, by]) => [`counts.${name}`, by]);
    patches.push({ kind: 'patch', id, increment: Object.fromEntries(some) });
  }
  return patches;
}
