import type { Instance } from '@payonce/jobs/instance';
import { type OutboxStore, type SweepCounts, type SweepParts, sweepOutbox } from '@payonce/jobs/outbox';
import { inForce, type PaceStore, type PauseStore } from '@payonce/jobs/rate';
import { timeBudget } from '@payonce/jobs/stopping';
import type { PoisonItems } from '@payonce/jobs/work-items';
import type { Lease } from '@payonce/leases';
import { shardNames } from '../invoice/shard.ts';
import { type InvoiceStore, overdueMs } from '../invoice/store/invoiceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import { readPace } from './summary.ts';

export interface GaugeParts {
  invoices: Pick<InvoiceStore, 'parkedCount' | 'unknownSince' | 'inProgressSince' | 'backlog' | 'overdue'>;
  outbox: Pick<OutboxStore, 'count'>;
  pace: PaceStore;
  pauses: Pick<PauseStore, 'read'>;
  poison: Pick<PoisonItems, 'waiting'>;
  /** Reports whether the provider takes our key. */
  checkKey: () => Promise<void>;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

/**
 * Reports what waits, for a person or to be paid, over all shards, at each sweep: an alert stays up for as long as it has to. The
 * overdue invoices are reported even if there are none: no report at all is an alarm, too.
 */
export async function reportGauges(parts: GaugeParts): Promise<void> {
  const { invoices, outbox, pace, pauses, poison, checkKey, instance } = parts;
  const { clock, telemetry } = instance;
  // Each gauge is reported once its own query answers, so that one that fails hides no other.
  await Promise.all([
    overdue(),
    backlog(),
    invoices.unknownSince().then((since) => telemetry.record(metric.paymentUnknownOldestMs, age(since))),
    invoices
      .inProgressSince()
      .then((since) => telemetry.record(metric.paymentInProgressOldestMs, age(since))),
    Promise.all([invoices.parkedCount(), outbox.count({ status: 'parked' })]).then(([own, messages]) =>
      telemetry.record(metric.parkedWaiting, own + messages),
    ),
    poison.waiting().then((count) => telemetry.record(metric.workItemPoisonWaiting, count)),
    pauses.read().then((pause) => telemetry.record(metric.pausedMs, age(inForce(pause, clock.now())?.at))),
    checkKey(),
  ]);

  /** An age (ms) of something that began then; 0 if it is of the future, or of nothing. */
  function age(since: string | undefined): number {
    return since === undefined ? 0 : Math.max(0, clock.now() - Date.parse(since));
  }

  async function overdue(): Promise<void> {
    const now = clock.now();
    const found = await invoices.overdue(new Date(now).toISOString());
    telemetry.record(metric.invoiceOverdue, found.count);
    const { claim, due } = overdueMs(found, now);
    telemetry.record(metric.invoiceOverdueOldestMs, claim, { since: 'claim' });
    telemetry.record(metric.invoiceOverdueOldestMs, due, { since: 'due' });
  }

  async function backlog(): Promise<void> {
    const { backlog: toPay } = await readPace({ invoices, pace }, clock.now());
    telemetry.record(metric.invoiceBacklog, toPay.waiting + toPay.claimed);
    telemetry.record(metric.invoiceOldestDueSeconds, toPay.oldestSeconds);
    if (toPay.estimatedSeconds !== null)
      telemetry.record(metric.invoiceBacklogSeconds, toPay.estimatedSeconds);
  }
}

/** Shards were left out. It has a name because an error without one counts as a bug in the simulation. */
class SweepIncomplete extends Error {
  override readonly name = 'SweepIncomplete';
}

/** Longest sweep (ms). Each reports once, and no report in eight minutes is an alarm (infra/modules/alerts.bicep). */
const longestMs = 4.5 * 60_000;

/**
 * A tick of the sweeper's timer: sends what waits in the outbox, reports the gauges beside that, and moves the horizons of the
 * counters. The next tick has what is left.
 *
 * @throws {SweepIncomplete} names the shards that were left out: the platform counts failed executions by that. {LeaseLost}
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
  const [swept, ...others] = await Promise.allSettled([
    sweepOutbox({ ...parts, partitions: shardNames(shards), instance }, lease, signal),
    reportGauges({ ...parts, instance }),
    parts.invoices.moveHorizons(signal),
  ]);
  if (swept.status === 'rejected') throw swept.reason;
  for (const other of others) if (other.status === 'rejected') throw other.reason;
  const { failed } = swept.value;
  if (failed.length > 0) throw new SweepIncomplete(`left out of the sweep: ${failed.join('; ')}`);
  return swept.value;
}
