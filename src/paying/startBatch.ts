import type { Container, OperationInput } from '@azure/cosmos';
import { transact } from '../documents/transact.ts';
import { type Invoice, unknownSince } from '../invoice/invoice.ts';
import { rereadInvoices } from '../invoice/rereadInvoices.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';

/** What a refused start finds out about one command. */
export type StartDecision = 'pay' | 'settled' | 'staleClaim' | 'missing';

/** Decides by the invoice as it is now. Only the batch that the claim names may pay. */
export function decideStart(invoice: Invoice | undefined, batchId: string): StartDecision {
  if (invoice === undefined) return 'missing';
  if (invoice.status === 'claimed') return invoice.claim?.batchId === batchId ? 'pay' : 'staleClaim';
  return invoice.status === 'pending' ? 'staleClaim' : 'settled';
}

export interface StartedBatch {
  /** The commands whose invoices this batch surely holds, now marked as being called. */
  toPay: PaymentCommand[];
  /** How many were dropped, and why. */
  dropped: Record<Exclude<StartDecision, 'pay'>, number>;
}

/** The store gave no clear answer in several tries, over some ten seconds: the message has to be delivered again. */
export class NoClearAnswer extends Error {
  override readonly name = 'NoClearAnswer';
}

const maxTries = 7;
const retryDelay = { base: 200, cap: 4_000 };

/**
 * The condition under which the batch of a claim may write to an invoice. The text is the same for the whole batch.
 * Patch conditions take no parameters: what a batch id may consist of is the schema's affair.
 */
export function heldBy(batchId: string): string {
  return `from c where c.status = 'claimed' and c.claim.batchId = '${batchId}'`;
}

/**
 * The command as it is to be paid: where calls had begun under this claim before (the message came again), they may have
 * charged. Pure.
 */
export function resumed(command: PaymentCommand, { claim }: Invoice): PaymentCommand {
  if (claim?.phase !== 'calling') return command;
  return { ...command, payment: unknownSince(command.payment, claim.at) };
}

/**
 * Marks the invoices of a batch as being called, in one transaction that holds only while each is still claimed by this
 * batch, and not called before unless its command says that it may have been charged. Where that is refused (the message
 * came again, a claim went stale), the batch is read once and each command decided by itself; what is left is started
 * again.
 *
 * @throws {NoClearAnswer}
 */
export async function startBatch(
  { container, clock, claimStaleMs }: { container: Container; clock: Clock; claimStaleMs: number },
  { batchId, shard, commands }: PaymentBatch,
): Promise<StartedBatch> {
  const dropped = { settled: 0, staleClaim: 0, missing: 0 };
  let toPay = commands;
  for (let tries = 0; tries < maxTries; tries++) {
    if (toPay.length === 0) return { toPay, dropped };
    const answer = await transact(
      container,
      shard,
      toPay.map((command) => startOperation(command)),
    );
    if (answer.kind === 'committed') return { toPay, dropped };
    const delayMs = exponentialBackoff(tries + 1, retryDelay);
    if (answer.kind === 'uncertain') await clock.sleep(delayMs);
    const current = await rereadInvoices(
      container,
      shard,
      toPay.map(({ invoiceId }) => invoiceId),
    );
    if (current === undefined) {
      await clock.sleep(delayMs);
      continue;
    }
    const byId = new Map(current.map((invoice) => [invoice.id, invoice]));
    toPay = toPay.flatMap((command) => {
      const invoice = byId.get(command.invoiceId);
      const decision = decideStart(invoice, batchId);
      if (decision === 'pay' && invoice !== undefined) return [resumed(command, invoice)];
      if (decision !== 'pay') dropped[decision]++;
      return [];
    });
  }
  throw new NoClearAnswer(
    `batch ${batchId} could not be started: the store gave no clear answer in ${maxTries} tries`,
  );

  function startOperation({ invoiceId, payment }: PaymentCommand): OperationInput {
    const now = clock.now();
    const untouched = payment.unknownSince === undefined ? ` and c.claim.phase = 'claimed'` : '';
    return {
      operationType: 'Patch',
      id: invoiceId,
      resourceBody: {
        condition: `${heldBy(batchId)}${untouched}`,
        operations: [
          { op: 'set', path: '/claim/phase', value: 'calling' },
          { op: 'set', path: '/actionableAt', value: new Date(now + claimStaleMs).toISOString() },
        ],
      },
    };
  }
}
