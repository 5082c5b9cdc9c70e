import type { DocumentStore } from '../../documents/documentStore.ts';
import { readableDocuments } from '../../documents/storedDocuments.ts';
import { countName } from './contribution.ts';
import { horizonAt, type StandingFigures, standingId, standingSchema } from './figureDocument.ts';
import type { FigureReads } from './figureReads.ts';
import { writeOnce } from './writeOnce.ts';

/**
 * Moves the horizons of all shards on to `now` (milliseconds), so that few invoices are counted one by one: it counts those
 * that have become due since the sweep before. Stops at `signal`. @throws {StoreAway} after the other shards
 */
export async function moveHorizons(
  { documents, reads, now }: { documents: DocumentStore; reads: FigureReads; now: () => number },
  signal?: AbortSignal,
): Promise<void> {
  let failure: { error: unknown } | undefined;
  for (const figures of readableDocuments(await reads.standing(), standingSchema, 'figures')) {
    if (signal?.aborted === true) break;
    try {
      await moveHorizon(figures);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;

  /** Refused if an invoice of the shard has moved meanwhile: then the next sweep does. */
  async function moveHorizon({ shard, horizon, _etag: version }: StandingFigures): Promise<void> {
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
