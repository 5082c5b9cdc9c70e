import { randomUUID } from 'node:crypto';
import type { Ended, FollowUps } from '../followUps/followUps.ts';
import { nextCheckAt } from '../invoice/checkSchedule.ts';
import { type InvoiceStatus, known, unknownSince } from '../invoice/invoice.ts';
import { type InvoiceChange, ifClaimedBy } from '../invoice/invoiceChange.ts';
import { invoiceVersion } from '../invoice/invoiceVersion.ts';
import type { InvoiceStore, Settled, Started, Writes } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import type { Settlement } from './decideSettlement.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';

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

/** A command with what is to become of its invoice. */
export interface SettledCommand {
  command: PaymentCommand;
  settlement: Settlement;
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

/** The content of one settling transaction: a patch for each invoice, and the messages of what follows. Pure. */
export function planSettlement(
  items: readonly SettledCommand[],
  {
    batchId,
    shard,
    settlementId,
    now,
    by,
    followUps,
  }: {
    batchId: string;
    shard: string;
    settlementId: string;
    /** Milliseconds. */
    now: number;
    by: string;
    followUps: FollowUps;
  },
): Writes {
  const at = new Date(now).toISOString();
  return {
    patches: items.map(({ command, settlement }) => {
      const entry = { at, by, batchId, settlement: settlementId, ...timelineOf(settlement) };
      const { set, clear } = changeOf(settlement, command, at);
      const version = invoiceVersion({ ...command, ...set });
      return ifClaimedBy(batchId, command.invoiceId, { set: { ...set, version }, clear, entry });
    }),
    messages: followUps(
      items.flatMap(({ command, settlement }) => endOf(command, settlement, at)),
      { shard, occasion: settlementId, now },
    ),
  };
}

/** What a settlement writes, apart from the timeline. */
function changeOf(
  settlement: Settlement,
  { payment }: PaymentCommand,
  at: string,
): {
  set: { status: InvoiceStatus } & NonNullable<InvoiceChange['set']>;
  clear: ('claim' | 'actionableAt')[];
} {
  switch (settlement.kind) {
    case 'paid': {
      const paid = { ...known(payment), id: settlement.paymentId, paidAt: at };
      return { set: { status: 'paid', payment: paid }, clear: ['claim', 'actionableAt'] };
    }
    case 'retry': {
      const { payment: next, attempts, at: actionableAt } = settlement;
      return { set: { status: 'pending', payment: next, attempts, actionableAt }, clear: ['claim'] };
    }
    case 'declined': {
      const { reason } = settlement;
      return {
        set: { status: 'declined', reason, declinedAt: at, payment: known(payment) },
        clear: ['claim', 'actionableAt'],
      };
    }
    case 'processing': {
      const { paymentId: id, state } = settlement;
      const inProgress = { id, state, since: at, checks: 0 };
      return {
        set: {
          status: 'processing',
          checkAt: nextCheckAt(0, Date.parse(at)),
          payment: { ...known(payment), inProgress },
        },
        clear: ['claim', 'actionableAt'],
      };
    }
    case 'parked': {
      const { reason, unknown } = settlement;
      const state = unknown ? { payment: unknownSince(payment, at) } : {};
      return { set: { status: 'parked', reason, ...state }, clear: ['claim', 'actionableAt'] };
    }
  }
}

/** What the timeline says of a settlement. */
function timelineOf(settlement: Settlement): { what: string } & Record<string, string> {
  switch (settlement.kind) {
    case 'paid':
      return { what: 'paid', paymentId: settlement.paymentId };
    case 'retry':
      return { what: `retry: ${settlement.why}`, reason: settlement.reason, nextAt: settlement.at };
    case 'processing':
      return { what: 'processing', paymentId: settlement.paymentId, state: settlement.state };
    case 'declined':
    case 'parked':
      return { what: settlement.kind, reason: settlement.reason };
  }
}

function endOf(command: PaymentCommand, settlement: Settlement, at: string): Ended[] {
  const invoice = { ...command, keyNumber: command.payment.keyNumber };
  switch (settlement.kind) {
    case 'retry':
    case 'processing':
      return [];
    case 'paid':
      return [{ invoice, end: { kind: 'paid', paymentId: settlement.paymentId, paidAt: at } }];
    case 'declined':
    case 'parked':
      return [{ invoice, end: settlement }];
  }
}
