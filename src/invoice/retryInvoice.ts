import { randomUUID } from 'node:crypto';
import type { Instance } from '../platform/instance.ts';
import { decideRetry } from './decideRetry.ts';
import type { Invoice, InvoiceStatus } from './invoice.ts';
import type { InvoiceStore } from './store/invoiceStore.ts';

export type RetriedInvoice =
  | { kind: 'retried'; from: InvoiceStatus; invoice: Invoice }
  | { kind: 'notFound' }
  | { kind: 'refused'; status: InvoiceStatus };

/**
 * Puts a parked or declined invoice back to pending, due now, on behalf of `actor`. If somebody else is faster (a
 * reconciliation finds the payment), the invoice is read and decided again.
 *
 * @throws {NoClearAnswer}
 */
export async function retryInvoice(
  {
    invoices,
    instance: { clock },
  }: { invoices: Pick<InvoiceStore, 'update'>; instance: Pick<Instance, 'clock'> },
  id: string,
  { actor, reason, notCharged = false }: { actor: string; reason?: string; notCharged?: boolean },
): Promise<RetriedInvoice> {
  // Names this retry in the timeline: a write whose answer was lost is recognised by it.
  const retryId = randomUUID();
  const why = { ...(reason === undefined ? {} : { reason }), ...(notCharged ? { notCharged } : {}) };
  const updated = await invoices.update(id, {
    decide(invoice) {
      const decision = decideRetry(invoice, { notCharged });
      if (decision.kind === 'refused') return { kind: 'refuse', why: decision.status };
      const { payment } = decision;
      const at = new Date(clock.now()).toISOString();
      const { keyNumber } = payment;
      const entry = { at, what: 'retried', by: actor, from: invoice.status, keyNumber, retry: retryId };
      return {
        kind: 'change',
        change: {
          set: { status: 'pending', actionableAt: at, attempts: 0, payment },
          clear: ['reason'],
          entry: { ...entry, ...why },
        },
      };
    },
    isApplied: ({ timeline }) => timeline.some((entry) => entry.retry === retryId),
  });
  switch (updated.kind) {
    case 'notFound':
      return updated;
    case 'refused':
      return { kind: 'refused', status: updated.why };
    case 'updated':
      return { kind: 'retried', from: updated.before.status, invoice: updated.invoice };
  }
}
