import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { cosmosStatus, statusOf } from '../documents/cosmosErrors.ts';
import { readItem } from '../documents/readItem.ts';

/** The setting SHARDS is not what this deployment began with: an invoice that is stored would be looked for elsewhere. */
export class ShardsChanged extends Error {
  override readonly name = 'ShardsChanged';
  constructor(stored: number, given: number) {
    super(
      `SHARDS is ${given}, but the invoices of this deployment are stored in ${stored} shards: set SHARDS to ${stored}, ` +
        `since with another number they would not be found, and be charged again once they are imported again`,
    );
  }
}

/** Its partition is none of a shard, so that no invoice can have its id. */
const place = { id: 'deployment', shard: 'deployment' };
const deploymentSchema = z.object({ shards: z.int() });

/**
 * Checks that the number of shards is that with which the deployment began; it is written down by whoever asks first. One
 * read in the life of a process, which is started anew when its settings change.
 *
 * The answer rejects with `ShardsChanged`, or with the store's error; then the next call asks again.
 */
export function shardsCheck(container: Container, shards: number): () => Promise<void> {
  let checked: Promise<void> | undefined;
  return () => {
    checked ??= check().catch((error: unknown) => {
      if (!(error instanceof ShardsChanged)) checked = undefined;
      throw error;
    });
    return checked;
  };

  async function check(): Promise<void> {
    const stored = (await read()) ?? (await create());
    if (stored !== shards) throw new ShardsChanged(stored, shards);
  }

  async function read(): Promise<number | undefined> {
    const document = await readItem(container, place.shard, place.id);
    return document === undefined ? undefined : deploymentSchema.parse(document).shards;
  }

  /** The number that is stored then: of two that create it one has been first. */
  async function create(): Promise<number> {
    try {
      await container.items.create({ ...place, type: 'deployment', shards });
      return shards;
    } catch (error) {
      if (statusOf(error) !== cosmosStatus.conflict) throw error;
      return deploymentSchema.parse(await readItem(container, place.shard, place.id)).shards;
    }
  }
}
