import { setTimeout as delay } from 'node:timers/promises';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { LocalCloud } from '../support/localCloud.ts';

/** Milliseconds within which the first call of a trial begins, on a busy machine too. */
const withinMs = 30_000;

/** Resolves once calls of a batch are in flight, and in any case after half a minute. */
export async function callsHaveBegun({ cosmosClient }: LocalCloud): Promise<void> {
  const container = cosmosClient.database(databaseName).container(containers.invoices.name);
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const { resources } = await container.items
      .query(`SELECT c.id FROM c WHERE c.claim.phase = 'calling'`)
      .fetchAll();
    if (resources.length > 0) return;
    await delay(50);
  }
}
