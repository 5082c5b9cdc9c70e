import { shardNames } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Lease } from '../locking/index.ts';
import { type SweepCounts, type SweepParts, sweepOutbox } from '../outbox/sweepOutbox.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { timeBudget } from '../platform/stopping.ts';
import { type GaugeParts, reportGauges } from './gauges.ts';

/** Longest sweep (ms). Each reports once, and no report in eight minutes is an alarm (infra/modules/alerts.bicep). */
const longestMs = 4.5 * 60_000;

/** Some shards were left out. The platform counts failed executions by that. */
export class SweepIncomplete extends Error {
  override readonly name = 'SweepIncomplete';
}

/**
 * A tick of the sweeper's timer: sends what waits in the outbox, for a few minutes at most, and reports beside that
 * what waits for a person or to be paid, and moves the horizons of the figures. The next tick has what is left.
 *
 * @throws {SweepIncomplete} naming the shards that were left out; the others are swept, and the gauges reported. {LeaseLost}
 */
export async function sweepAndReport(
  {
    shards,
    instance,
    ...parts
  }: Pick<SweepParts, 'outbox' | 'dispatcher'> &
    GaugeParts & {
      invoices: Pick<InvoiceStore, 'moveHorizons'>;
      shards: number;
      instance: Instance;
    },
  lease: Pick<Lease, 'assertHeld'>,
  stopping: AbortSignal,
): Promise<SweepCounts> {
  using budget = timeBudget(instance.clock, stopping, longestMs);
  const { signal } = budget;
  const [swept, reported] = await Promise.allSettled([
    sweep(signal),
    reportGauges({ ...parts, instance }),
    moveHorizons(signal),
  ]);
  if (swept.status === 'rejected') throw swept.reason;
  if (reported.status === 'rejected') throw reported.reason;
  return swept.value;

  /** Horizons that stay behind only make the summary dearer to read. */
  async function moveHorizons(signal: AbortSignal): Promise<void> {
    try {
      await parts.invoices.moveHorizons(signal);
    } catch (error) {
      instance.log(`the horizons of the figures could not be moved: ${errorText(error)}`);
    }
  }

  async function sweep(signal: AbortSignal): Promise<SweepCounts> {
    const partitions = shardNames(shards);
    const counts = await sweepOutbox({ ...parts, partitions, instance }, lease, signal);
    if (counts.failed.length > 0)
      throw new SweepIncomplete(`left out of the sweep: ${counts.failed.join('; ')}`);
    return counts;
  }
}
