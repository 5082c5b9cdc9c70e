import { randomUUID } from 'node:crypto';
import type { FollowUps } from '../invoice/followUps.ts';
import { maxAttempts, unknownSince } from '../invoice/invoice.ts';
import type { EarlierCalls, Starting, ToStart } from '../invoice/invoiceChange.ts';
import type { InvoiceStore, Settled, Started } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import { inSpan } from '../platform/tracing.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';
import type { Ended } from './paymentSpan.ts';
import { planSettlement, type SettledCommand } from './planSettlement.ts';

/** Commands of a batch that are called together. */
export interface Part {
  commands: readonly PaymentCommand[];
  /** Where another delivery has called before: then this is one attempt more. */
  earlier: ReadonlyMap<string, EarlierCalls>;
  /** It is one command whose earlier calls may have ended their process. */
  alone: boolean;
}

export interface StartedPart {
  /** The commands whose invoices this batch holds, now marked as being called. */
  toPay: PaymentCommand[];
  /** Commands that another delivery has begun to call. They are to be paid alone. */
  calledBefore: Map<string, EarlierCalls>;
  /** How many were dropped, and why. */
  dropped: Started['dropped'];
  starting: Starting;
}

/**
 * The parts with which a delivery begins. An invoice that was called before without a known outcome may have crashed its
 * process: it is paid alone, after the others, those that were tried least often first. Pure.
 */
export function firstParts({ commands }: Pick<PaymentBatch, 'commands'>): Part[] {
  const [fresh, called] = [false, true].map((wasCalled) =>
    commands.filter(({ payment }) => (payment.unknownSince !== undefined) === wasCalled),
  ) as [PaymentCommand[], PaymentCommand[]];
  const earlier = new Map<string, EarlierCalls>();
  const alone = called
    .toSorted((one, other) => one.attempt - other.attempt)
    .map((command) => ({ commands: [command], earlier, alone: true }));
  return fresh.length === 0 ? alone : [{ commands: fresh, earlier, alone: false }, ...alone];
}

/**
 * Commands that another delivery has begun to call, one by one, those that were tried least often first. One without an attempt left
 * stays out: its claim goes stale, and a run parks it. Pure.
 */
export function partsToRepeat(
  { commands }: Pick<PaymentBatch, 'commands'>,
  calledBefore: ReadonlyMap<string, EarlierCalls>,
): Part[] {
  const attemptBefore = ({ invoiceId }: PaymentCommand) =>
    calledBefore.get(invoiceId)?.attempt ?? maxAttempts;
  return commands
    .filter((command) => attemptBefore(command) < maxAttempts)
    .toSorted((one, other) => attemptBefore(one) - attemptBefore(other))
    .map((command) => ({ commands: [command], earlier: calledBefore, alone: true }));
}

/** Attempts that calling a part makes of each of its invoices, at most. */
export function attemptOf({ commands, earlier }: Part): number {
  return Math.max(
    ...commands.map(({ invoiceId, attempt }) => (earlier.get(invoiceId)?.attempt ?? attempt - 1) + 1),
  );
}

/** What the store has to know of one command of a part. */
function toStart({ earlier }: Part, { invoiceId, payment: { keyCreatedAt } }: PaymentCommand): ToStart {
  const before = earlier.get(invoiceId);
  return { invoiceId, keyCreatedAt, ...(before === undefined ? {} : { earlier: before }) };
}

/** What is written of commands that have ended: settled, or given back. Pure. */
export function toWrite(ended: readonly Ended[], { part, starting }: { part: Part; starting: Starting }) {
  const toSettle: SettledCommand[] = [];
  const held: ToStart[] = [];
  for (const end of ended) {
    if (end.kind === 'notCalled') held.push(toStart(part, end.command));
    else toSettle.push(end.ofKey ? end.one : { ...end.one, start: starting });
  }
  return { toSettle, held };
}

/**
 * Marks the invoices of a part as being called, in one transaction that holds only while each is still claimed by this
 * batch and was not called by another delivery. If that is refused (the message came again, a claim went stale), the part is
 * read once and each command decided by itself; the rest is started again. A command that is called again is paid as one
 * that may have been charged.
 *
 * @throws {NoClearAnswer}
 */
export async function startPart(
  invoices: Pick<InvoiceStore, 'start'>,
  { batchId, shard }: Pick<PaymentBatch, 'batchId' | 'shard'>,
  part: Part,
  { claimStaleMs, by }: { claimStaleMs: number; by: string },
): Promise<StartedPart> {
  const { commands } = part;
  const start = () =>
    invoices.start({
      shard,
      batchId,
      invoices: commands.map((command) => toStart(part, command)),
      staleAfterMs: claimStaleMs,
      by,
    });
  const attributes = { 'batch.id': batchId, 'batch.size': commands.length };
  const { held, calledBefore, dropped, starting } = await inSpan('start batch', { attributes }, start);
  const byId = new Map(held.map((one) => [one.invoiceId, one]));
  const toPay = commands.flatMap((command) => {
    const one = byId.get(command.invoiceId);
    return one === undefined ? [] : [repeated(command, one.earlier)];
  });
  const before = new Map(calledBefore.map((one) => [one.invoiceId, one.earlier]));
  return { toPay, calledBefore: before, dropped, starting };
}

/** The command as it is to be paid: earlier calls under its claim may have charged. Pure. */
export function repeated(command: PaymentCommand, earlier: EarlierCalls | undefined): PaymentCommand {
  if (earlier === undefined) return command;
  const payment = unknownSince(command.payment, earlier.since);
  return { ...command, attempt: earlier.attempt + 1, payment };
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
  const settle = () =>
    invoices.settle({
      shard,
      batchId,
      settlementId,
      items: toSettle.map((one) => {
        const { invoiceId, amountMinor, currency } = one.command;
        return { ...one, invoiceId, amountMinor, currency };
      }),
      plan: (items) => planSettlement(items, { batchId, shard, settlementId, now, by, followUps }),
    });
  const attributes = { 'batch.id': batchId, 'batch.size': toSettle.length };
  return inSpan('settle batch', { attributes }, settle);
}
