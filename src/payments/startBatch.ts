import type { Container, OperationInput } from '@azure/cosmos';
import type { PaymentBatch, PaymentCommand } from '../invoices/command.ts';
import type { Invoice } from '../invoices/invoice.ts';
import { readInvoices } from '../invoices/readInvoices.ts';
import type { Clock } from '../platform/clock.ts';
import { transact } from '../platform/transact.ts';

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

const maxTries = 6;
const retryDelayMs = 200;

/** The condition under which the batch of a claim may write to an invoice. The text is the same for the whole batch. */
export function heldBy(batchId: string): string {
  return `from c where c.status = 'claimed' and c.claim.batchId = '${batchId}'`;
}

/**
 * Marks the invoices of a batch as being called, in one transaction that holds only while each is still claimed by this
 * batch. Where that is refused (the message came again, a claim went stale), the batch is read once and each command
 * decided by itself; what is left is started again.
 *
 * @throws when the store gives no clear answer in several tries; the message is then delivered again
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
    if (answer.kind === 'uncertain') await clock.sleep(retryDelayMs);
    const current = await readInvoices(
      container,
      shard,
      toPay.map(({ invoiceId }) => invoiceId),
    );
    const byId = new Map(current.map((invoice) => [invoice.id, invoice]));
    toPay = toPay.filter(({ invoiceId }) => {
      const decision = decideStart(byId.get(invoiceId), batchId);
      if (decision !== 'pay') dropped[decision]++;
      return decision === 'pay';
    });
  }
  throw new Error(
    `batch ${batchId} could not be started: the store gave no clear answer in ${maxTries} tries`,
  );

  function startOperation({ invoiceId }: PaymentCommand): OperationInput {
    const now = clock.now();
    return {
      operationType: 'Patch',
      id: invoiceId,
      resourceBody: {
        condition: heldBy(batchId),
        operations: [
          { op: 'set', path: '/claim/phase', value: 'calling' },
          { op: 'set', path: '/actionableAt', value: new Date(now + claimStaleMs).toISOString() },
        ],
      },
    };
  }
}
