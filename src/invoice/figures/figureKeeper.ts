import {
  type DocumentStore,
  type Operation,
  type Patch,
  refusedBecause,
  StoreAway,
} from '../../documents/documentStore.ts';
import { keepFirst } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  type Change,
  type Countable,
  dayId,
  figureMoves,
  horizonAt,
  isFigureId,
  newDay,
  newStanding,
  patched,
  type StandingFigures,
  standingId,
  standingSchema,
} from './counters.ts';

/** Moves the figures in the transaction that changes the invoices, so that neither is ever there without the other. */
export interface FigureKeeper {
  /**
   * The operations of a transaction that patches these invoices: the patches, and what moves the figures. `before` has the
   * invoices as they were read, or as the conditions of the patches say they are.
   */
  patching(shard: string, patches: readonly Patch[], before: readonly Countable[]): Operation[];
  /** The same of one that creates these invoices. */
  creating<T extends Countable>(shard: string, invoices: readonly T[]): Operation[];
  /**
   * Prepares the next try of a refused transaction: creates a document of the counters that is missing, or reads the horizon
   * anew.
   */
  refused(shard: string, operations: readonly Operation[], codes: readonly number[]): Promise<void>;
}

export function figureKeeper({ documents, clock }: { documents: DocumentStore; clock: Clock }): FigureKeeper {
  /** Horizon of each shard where the one of the clock was refused. May be old: it is a condition of each write. */
  const horizons = new Map<string, string>();

  return {
    patching(shard, patches, before) {
      const byId = new Map(before.map((invoice) => [invoice.id, invoice]));
      const changes = patches.flatMap((patch) => {
        const invoice = byId.get(patch.id);
        return invoice === undefined ? [] : [{ before: invoice, after: patched(invoice, patch) }];
      });
      return [...patches, ...moving(shard, changes)];
    },

    creating(shard, invoices) {
      const creates = invoices.map((document) => ({ kind: 'create' as const, document }));
      const changes = invoices.map((after) => ({ after }));
      return [...creates, ...moving(shard, changes)];
    },

    async refused(shard, operations, codes) {
      const at = codes.findIndex(
        (code) => code === refusedBecause.missing || code === refusedBecause.changed,
      );
      const operation = operations[at];
      if (operation?.kind !== 'patch' || !isFigureId(operation.id)) return;
      try {
        if (operation.id !== standingId) return await createDays(documents, shard, operations);
        horizons.set(shard, (await standingOf(documents, shard, clock.now())).horizon);
      } catch (error) {
        // The next try of the transaction meets the same refusal.
        if (!(error instanceof StoreAway && error.reason === 'noAnswer')) throw error;
      }
    },
  };

  function moving(shard: string, changes: readonly Change[]): Patch[] {
    return figureMoves({ horizon: horizons.get(shard) ?? horizonAt(clock.now()) }, changes);
  }
}

/** The figures of a shard. The first to ask, at `now` (milliseconds), creates them. @throws {StoreAway} */
export async function standingOf(
  documents: DocumentStore,
  shard: string,
  now: number,
): Promise<StandingFigures> {
  const [stored] = await documents.read(shard, [standingId]);
  if (stored !== undefined) return standingSchema.parse(stored);
  await keepFirst(documents, newStanding(shard, now));
  const [created] = await documents.read(shard, [standingId]);
  return standingSchema.parse(created);
}

/** Creates the figures of the days that these operations change, unless they are there. @throws {StoreAway} */
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
