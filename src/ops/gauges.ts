import { type InvoiceStore, overdueMs } from '../invoice/store/invoiceStore.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import { inForce, type PauseStore } from '../pacing/pause.ts';
import type { PaceStore } from '../pacing/schedule.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import type { PoisonItems } from '../workItems/poison.ts';
import { readPace } from './summary.ts';

export interface GaugeParts {
  invoices: Pick<InvoiceStore, 'parkedCount' | 'unknownSince' | 'inProgressSince' | 'backlog' | 'overdue'>;
  outbox: Pick<OutboxStore, 'count'>;
  pace: PaceStore;
  pauses: Pick<PauseStore, 'read'>;
  poison: Pick<PoisonItems, 'waiting'>;
  /** Reports whether the provider takes our key. Default: nobody asks. */
  checkKey?: () => Promise<void>;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

/**
 * Reports what waits, for a person or to be paid, over all shards. Each sweep does, so an alert stays up for as long as it
 * has to.
 *
 * The age of the oldest unknown payment is minutes after a provider's time-outs. Hours mean that asking again and looking
 * up have told nothing. It is 0 if every payment's outcome is known. A payment in progress is no unknown one; a bank debit
 * takes up to 14 days.
 *
 * The overdue invoices show if invoices get paid at all, whatever stands in the way: nothing else is looked at. So
 * it is reported even if none is, and no report at all is an alarm, too.
 */
export async function reportGauges({
  invoices,
  outbox,
  pace,
  pauses,
  poison,
  checkKey = async () => {},
  instance: { clock, telemetry },
}: GaugeParts): Promise<void> {
  // Each gauge is reported once its own query answers, so that one that fails hides no other.
  await Promise.all([
    overdue(),
    unknown(),
    inProgress(),
    parked(),
    poisoned(),
    backlog(),
    paused(),
    checkKey(),
  ]);

  async function overdue(): Promise<void> {
    const now = clock.now();
    const found = await invoices.overdue(new Date(now).toISOString());
    telemetry.record(metric.invoiceOverdue, found.count);
    const { claim, due } = overdueMs(found, now);
    telemetry.record(metric.invoiceOverdueOldestMs, claim, { since: 'claim' });
    telemetry.record(metric.invoiceOverdueOldestMs, due, { since: 'due' });
  }

  async function unknown(): Promise<void> {
    const since = await invoices.unknownSince();
    const unknownMs = since === undefined ? 0 : clock.now() - Date.parse(since);
    telemetry.record(metric.paymentUnknownOldestMs, Math.max(0, unknownMs));
  }

  async function inProgress(): Promise<void> {
    const since = await invoices.inProgressSince();
    const ms = since === undefined ? 0 : clock.now() - Date.parse(since);
    telemetry.record(metric.paymentInProgressOldestMs, Math.max(0, ms));
  }

  async function parked(): Promise<void> {
    const [parkedInvoices, parkedMessages] = await Promise.all([
      invoices.parkedCount(),
      outbox.count({ status: 'parked' }),
    ]);
    telemetry.record(metric.parkedWaiting, parkedInvoices + parkedMessages);
  }

  async function backlog(): Promise<void> {
    const { backlog: toPay } = await readPace({ invoices, pace }, clock.now());
    telemetry.record(metric.invoiceBacklog, toPay.waiting + toPay.claimed);
    telemetry.record(metric.invoiceOldestDueSeconds, toPay.oldestSeconds);
    if (toPay.estimatedSeconds !== null)
      telemetry.record(metric.invoiceBacklogSeconds, toPay.estimatedSeconds);
  }

  async function paused(): Promise<void> {
    const now = clock.now();
    const pause = inForce(await pauses.read(), now);
    const ms = pause === undefined ? 0 : now - Date.parse(pause.at);
    telemetry.record(metric.pausedMs, Math.max(0, ms));
  }

  async function poisoned(): Promise<void> {
    telemetry.record(metric.workItemPoisonWaiting, await poison.waiting());
  }
}
