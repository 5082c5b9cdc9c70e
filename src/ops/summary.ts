import { type InvoiceStatus, invoiceStatuses } from '../invoice/invoice.ts';
import type { InvoiceStore, ReversedFigure } from '../invoice/store/invoiceStore.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import { oldestPendingMs } from '../outbox/sweepOutbox.ts';
import type { PaceStore } from '../pacing/paceStore.ts';
import { inForce, type PauseStore } from '../pacing/pause.ts';
import type { Instance } from '../platform/instance.ts';
import { type BacklogFigures, type PaceFigures, readPace } from './paceFigures.ts';
import { pauseView } from './pauseApi.ts';

export interface Summary {
  /** The pause in force; null if payments go on. */
  paused: ReturnType<typeof pauseView>;
  invoices: Record<InvoiceStatus, number>;
  outbox: { pending: number; parked: number; oldestPendingSeconds: number };
  /** Claims whose holder has given no sign of life for too long. */
  staleClaims: number;
  /** Invoices with a recorded successful charge. */
  charges: number;
  /** Invoices of which something is refunded or about to be, by currency. */
  refunded: readonly ReversedFigure[];
  /** Disputes that the bank has not decided, by currency. */
  openDisputes: readonly ReversedFigure[];
  /** How the allowance of the payment provider is used; null for a limit that nobody has used yet. */
  pace: { charges: PaceFigures | null; lookups: PaceFigures | null };
  /** What is still to be paid. */
  backlog: BacklogFigures;
}

/** How everything stands, over all shards. */
export async function summarize({
  invoices,
  outbox,
  pace,
  pauses,
  instance,
}: {
  invoices: Pick<InvoiceStore, 'figures' | 'backlog'>;
  pace: PaceStore;
  pauses: Pick<PauseStore, 'read'>;
  outbox: Pick<OutboxStore, 'count' | 'oldestPending'>;
  instance: Pick<Instance, 'clock'>;
}): Promise<Summary> {
  const now = instance.clock.now();
  const [{ byStatus, staleClaims, charges, refunded, openDisputes }, pending, parked, oldest, paying, pause] =
    await Promise.all([
      invoices.figures(new Date(now).toISOString()),
      outbox.count({ status: 'pending' }),
      outbox.count({ status: 'parked' }),
      oldestPendingMs(outbox, now),
      readPace({ invoices, pace }, now),
      pauses.read(),
    ]);
  const count = (status: InvoiceStatus) => byStatus.get(status) ?? 0;
  return {
    paused: pauseView(inForce(pause, now)),
    invoices: Object.fromEntries(
      invoiceStatuses.map((status) => [status, count(status)]),
    ) as Summary['invoices'],
    outbox: {
      pending,
      parked,
      oldestPendingSeconds: Math.round(oldest / 1000),
    },
    staleClaims,
    charges,
    refunded,
    openDisputes,
    ...paying,
  };
}
