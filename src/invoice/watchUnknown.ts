import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';

const oldestSchema = z.tuple([z.iso.datetime()]);

/**
 * Reports for how long the oldest payment of all shards has been unknown, in milliseconds; 0 where every payment's fate is
 * known. Minutes are usual after a provider's time-outs; hours mean that asking again and looking up have told nothing.
 */
export async function watchUnknown({
  container,
  clock,
  telemetry,
}: {
  container: Container;
  clock: Clock;
  telemetry: Telemetry;
}): Promise<void> {
  const { resources } = await container.items
    .query('SELECT VALUE MIN(c.payment.unknownSince) FROM c WHERE IS_DEFINED(c.payment.unknownSince)')
    .fetchAll();
  // Over no item the answer is empty, or one value that is undefined.
  const oldest = oldestSchema.safeParse(resources);
  const since = oldest.success ? Date.parse(oldest.data[0]) : clock.now();
  telemetry.record(metric.paymentUnknownOldestMs, Math.max(0, clock.now() - since));
}
