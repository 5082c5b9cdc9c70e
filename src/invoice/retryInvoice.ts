import { randomUUID } from 'node:crypto';
import type { Container, PatchOperation } from '@azure/cosmos';
import { transact } from '../documents/transact.ts';
import type { Clock } from '../platform/clock.ts';
import { decideRetry } from './decideRetry.ts';
import type { Invoice, InvoiceStatus, PaymentState } from './invoice.ts';
import { readInvoice } from './readInvoices.ts';
import { appendToTimeline } from './timeline.ts';

export type RetriedInvoice =
  | { kind: 'retried'; from: InvoiceStatus; invoice: Invoice }
  | { kind: 'notFound' }
  | { kind: 'refused'; status: InvoiceStatus };

const maxTries = 5;
const retryDelayMs = 200;

/**
 * Puts a parked or declined invoice back to pending, due now, in the name of `actor`. Conditional on the ETag that was
 * read: where somebody else was faster (a reconciliation finds the payment), it is read and decided anew.
 *
 * @throws when the store gives no clear answer in several tries
 */
export async function retryInvoice(
  { container, clock }: { container: Container; clock: Clock },
  { id, shard }: { id: string; shard: string },
  { actor, reason, notCharged = false }: { actor: string; reason?: string; notCharged?: boolean },
): Promise<RetriedInvoice> {
  // The name of this retry and nobody else's: by it a write that was applied, but whose answer was lost, is known.
  const retryId = randomUUID();
  let from: InvoiceStatus | undefined;
  for (let tries = 0; ; tries++) {
    const invoice = await readInvoice(container, shard, id);
    if (invoice === undefined) return { kind: 'notFound' };
    if (from !== undefined && invoice.timeline.some((entry) => entry.retry === retryId)) {
      return { kind: 'retried', from, invoice };
    }
    const decision = decideRetry(invoice, { notCharged });
    if (decision.kind === 'refused') return decision;
    if (tries === maxTries) break;
    from = decision.from;
    const operations = retryPatches(invoice, decision.payment);
    const answer = await transact(container, shard, [
      { operationType: 'Patch', id, ifMatch: invoice._etag, resourceBody: { operations } },
    ]);
    if (answer.kind === 'uncertain') await clock.sleep(retryDelayMs * 2 ** tries);
  }
  throw new Error(`invoice ${id} could not be retried: the store gave no clear answer in ${maxTries} tries`);

  function retryPatches(invoice: Invoice, payment: PaymentState): PatchOperation[] {
    const at = new Date(clock.now()).toISOString();
    const { status } = invoice;
    const why = { ...(reason === undefined ? {} : { reason }), ...(notCharged ? { notCharged } : {}) };
    const entry = {
      at,
      what: 'retried',
      by: actor,
      from: status,
      keyNumber: payment.keyNumber,
      retry: retryId,
    };
    return [
      { op: 'set', path: '/status', value: 'pending' },
      { op: 'set', path: '/actionableAt', value: at },
      { op: 'set', path: '/attempts', value: 0 },
      { op: 'set', path: '/payment', value: payment },
      ...(invoice.reason === undefined ? [] : [{ op: 'remove' as const, path: '/reason' }]),
      appendToTimeline(invoice, { ...entry, ...why }),
    ];
  }
}
