import { createHash } from 'node:crypto';
import { type DocumentStore, keepFirst } from '@payonce/jobs/documents';
import { z } from 'zod';

/**
 * The shard of an invoice: two hex digits of a stable hash of its id, below the number of shards. Where a shard lives
 * never changes, so neither may the hash, nor the number of shards of a deployment.
 */
export function shardOf(invoiceId: string, shards: number): string {
  return shardName((createHash('sha256').update(invoiceId).digest()[0] ?? 0) % shards);
}

/** The names of all shards, in order. */
export function shardNames(shards: number): string[] {
  return Array.from({ length: shards }, (_, index) => shardName(index));
}

/** The shards of each group: group `g` has every shard whose number is `g` modulo the number of groups. */
export function shardsOfGroup(
  group: number,
  { shards, groups }: { shards: number; groups: number },
): string[] {
  return shardNames(shards).filter((_, index) => index % groups === group);
}

function shardName(index: number): string {
  return index.toString(16).padStart(2, '0');
}

/** Holds what is true of the whole deployment. It is no shard, so no invoice can be in its way. */
export const deploymentPartition = 'deployment';

/** `SHARDS` differs from what this deployment began with: stored invoices would be looked for in the wrong place. */
export class ShardsChanged extends Error {
  override readonly name = 'ShardsChanged';

  constructor(stored: number, given: number) {
    super(
      `SHARDS is ${given}, but the invoices of this deployment are stored in ${stored} shards: set SHARDS to ${stored}. ` +
        `With another number they would not be found, and would be charged again if they were imported again`,
    );
  }
}

const place = { id: 'deployment', shard: deploymentPartition };
const deploymentSchema = z.object({ shards: z.int() });

/**
 * Checks that the number of shards is the one with which the deployment began; the first process to ask records it. It
 * costs one read in the life of a process, which restarts when its settings change.
 *
 * The answer rejects with `ShardsChanged`, or with the store's error; in that case the next call asks again.
 */
export function shardsCheck(documents: DocumentStore, shards: number): () => Promise<void> {
  let checked: Promise<void> | undefined;
  return () => {
    checked ??= check().catch((error: unknown) => {
      if (!(error instanceof ShardsChanged)) checked = undefined;
      throw error;
    });
    return checked;
  };

  async function check(): Promise<void> {
    const stored = deploymentSchema.parse(
      await keepFirst(documents, { ...place, type: 'deployment', shards }),
    );
    if (stored.shards !== shards) throw new ShardsChanged(stored.shards, shards);
  }
}
