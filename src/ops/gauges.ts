import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import type { PaceStore } from '../pacing/paceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import type { PoisonItems } from '../workItems/poison.ts';
import { readPace } from './paceFigures.ts';

/**
 * Reports what waits, for a person or to be paid, over all shards. Each sweep does, so an alert stays up for as long as it
 * has to.
 *
 * The age of the oldest unknown payment is minutes after a provider's time-outs. Hours mean that asking again and looking
 * up have told nothing. It is 0 if every payment's outcome is known. A payment in progress is no unknown one; a bank debit
 * takes up to 14 days.
 */
export async function reportGauges({
  invoices,
  outbox,
  pace,
  poison,
  instance: { clock, telemetry },
}: {
  invoices: Pick<InvoiceStore, 'parkedCount' | 'unknownSince' | 'inProgressSince' | 'backlog'>;
  outbox: Pick<OutboxStore, 'parkedCount'>;
  pace: PaceStore;
  poison: Pick<PoisonItems, 'waiting'>;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}): Promise<void> {
  // Each gauge is reported once its own query answers, so that one that fails hides no other.
  await Promise.all([unknown(), inProgress(), parked(), poisoned(), backlog()]);

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
      outbox.parkedCount(),
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

  async function poisoned(): Promise<void> {
    telemetry.record(metric.workItemPoisonWaiting, await poison.waiting());
  }
}
