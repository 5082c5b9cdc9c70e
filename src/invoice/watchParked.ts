import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { metric, type Telemetry } from '../platform/telemetry.ts';

const countSchema = z.tuple([z.number()]);

/**
 * Reports how many invoices and outbox messages of all shards are parked at the moment: each waits for a person, for as
 * long as it takes.
 */
export async function watchParked({
  container,
  telemetry,
}: {
  container: Container;
  telemetry: Telemetry;
}): Promise<void> {
  const { resources } = await container.items
    .query<unknown>(`SELECT VALUE COUNT(1) FROM c WHERE c.status = 'parked'`)
    .fetchAll();
  telemetry.record(metric.parkedWaiting, countSchema.parse(resources)[0]);
}
