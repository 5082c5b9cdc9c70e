import { randomUUID } from 'node:crypto';
import type { FollowUps } from '../followUps/followUps.ts';
import { unknownSince } from '../invoice/invoice.ts';
import type { InvoiceStore, Settled, Started } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';
import { planSettlement, type SettledCommand } from './planSettlement.ts';

export interface StartedBatch {
  /** The commands whose invoices this batch holds, now marked as being called. */
  toPay: PaymentCommand[];
  /** How many were dropped, and why. */
  dropped: Started['dropped'];
}

/**
 * Marks the invoices of a batch as being called, in one transaction that holds only while each is still claimed by this
 * batch and was not called before, unless its command says that it may have been charged. If that is refused (the message
 * came again, a claim went stale), the batch is read once and each command decided by itself; the rest is started again.
 * A command whose calls had begun under this claim before is paid as one that may have been charged.
 *
 * @throws {NoClearAnswer}
 */
export async function startBatch(
  invoices: Pick<InvoiceStore, 'start'>,
  { batchId, shard, commands }: PaymentBatch,
  { claimStaleMs }: { claimStaleMs: number },
): Promise<StartedBatch> {
  const { held, dropped } = await invoices.start({
    shard,
    batchId,
    invoices: commands.map(({ invoiceId, payment }) => ({
      invoiceId,
      mayBeCharged: payment.unknownSince !== undefined,
    })),
    staleAfterMs: claimStaleMs,
  });
  const byId = new Map(held.map((invoice) => [invoice.invoiceId, invoice]));
  const toPay = commands.flatMap((command) => {
    const invoice = byId.get(command.invoiceId);
    if (invoice === undefined) return [];
    return [resumed(command, invoice)];
  });
  return { toPay, dropped };
}

/** The command as it is to be paid: calls that had begun under this claim before may have charged. Pure. */
export function resumed(command: PaymentCommand, { calledSince }: { calledSince?: string }): PaymentCommand {
  if (calledSince === undefined) return command;
  return { ...command, payment: unknownSince(command.payment, calledSince) };
}

/**
 * Settles some commands of a batch in one transaction, together with the outbox messages of the work that follows. It holds
 * for each invoice only while the batch still has the claim. Invoices that the batch has lost are dropped: the claim that
 * took them sends the same key and settles them.
 *
 * @throws {NoClearAnswer} the message is then delivered again, the same keys are sent, and the provider answers as before
 */
export function settleBatch(
  {
    invoices,
    followUps,
    instance: { clock, name: by },
  }: {
    invoices: Pick<InvoiceStore, 'settle'>;
    followUps: FollowUps;
    instance: Pick<Instance, 'clock' | 'name'>;
  },
  { batchId, shard }: Pick<PaymentBatch, 'batchId' | 'shard'>,
  toSettle: readonly SettledCommand[],
): Promise<Settled<SettledCommand & { invoiceId: string }>> {
  const now = clock.now();
  // Names this settlement and no other, so that a transaction whose answer was lost is recognised.
  const settlementId = `${batchId}-${randomUUID().slice(0, 8)}`;
  return invoices.settle({
    shard,
    batchId,
    settlementId,
    items: toSettle.map((one) => ({ ...one, invoiceId: one.command.invoiceId })),
    plan: (items) => planSettlement(items, { batchId, shard, settlementId, now, by, followUps }),
  });
}
