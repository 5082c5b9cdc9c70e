import type { DocumentStore } from '../../documents/documentStore.ts';
import { readableDocuments } from '../../documents/storedDocuments.ts';
import { shardNames } from '../shard.ts';
import { countName } from './contribution.ts';
import { horizonAt, isCounted, type StandingFigures, standingId, standingSchema } from './figureDocument.ts';
import type { FigureReads } from './figureReads.ts';
import { recountShard } from './recountShard.ts';
import { standingOf } from './storedFigures.ts';
import { writeOnce } from './writeOnce.ts';

export interface Tended {
  /** Shards that were counted, because nobody had, or because a release that does not count has written there. */
  recounted: readonly string[];
  /** Shards that were too busy for it. */
  busy: readonly string[];
}

/** A recount that failed is tried again after this time, in milliseconds: a broken invoice does not mend itself. */
const againAfterMs = 3_600_000;

/**
 * Keeps the figures right and cheap. Each sweep does: it looks for invoices that a release which does not count has written,
 * recounts the shards where it finds some, and moves the horizons on. What it reads is what was written or became due since
 * the sweep before, and the invoices of the shards that it recounts.
 *
 * @throws what `recountShard` throws, after the other shards
 */
export async function tendFigures(
  parts: {
    documents: DocumentStore;
    reads: FigureReads;
    now: () => number;
    /** When (milliseconds) the last recount of a shard failed. */
    failedAt: Map<string, number>;
  },
  shards: number,
  signal?: AbortSignal,
): Promise<Tended> {
  const { documents, reads, now, failedAt } = parts;
  const stored = new Map(
    readableDocuments(await reads.standing(), standingSchema, 'figures').map((one) => [one.shard, one]),
  );
  const counted = [...stored.values()].filter(isCounted);
  const since = Math.min(
    ...counted.map(({ checkedAt = 0, countedAt = 0 }) => Math.max(checkedAt, countedAt)),
  );
  const miscounted = new Set(counted.length === 0 ? [] : await reads.miscounted(since));
  const recounted: string[] = [];
  const busy: string[] = [];
  let failure: { error: unknown } | undefined;
  for (const shard of shardNames(shards)) {
    if (signal?.aborted === true) break;
    try {
      const empty = async () => !(await reads.hasInvoices(shard));
      const figures = stored.get(shard) ?? (await standingOf(documents, shard, { now: now(), empty }));
      if (isCounted(figures) && !miscounted.has(shard)) await moveHorizon(figures);
      else {
        if (now() - (failedAt.get(shard) ?? Number.NEGATIVE_INFINITY) < againAfterMs) continue;
        const { kind } = await recountShard(parts, shard);
        failedAt.delete(shard);
        (kind === 'busy' ? busy : recounted).push(shard);
      }
    } catch (error) {
      failedAt.set(shard, now());
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  return { recounted, busy };

  /** Refused if an invoice of the shard has moved meanwhile: then the next sweep does. */
  async function moveHorizon({ shard, horizon, _etag: version, _ts }: StandingFigures): Promise<void> {
    const next = horizonAt(now());
    if (next <= horizon) return;
    const due = await reads.pending({ shards: [shard], from: horizon, before: next });
    // Everything that was written before was looked at.
    const set = { horizon: next, ...(_ts === undefined ? {} : { checkedAt: _ts }) };
    const increment = {
      [`counts.${countName.moves}`]: 1,
      ...(due === 0 ? {} : { [`counts.${countName.due}`]: due }),
    };
    await writeOnce(documents, shard, { kind: 'patch', id: standingId, version, set, increment });
  }
}
