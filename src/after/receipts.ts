import { createHash } from 'node:crypto';
import { defineStage, RetryLater, type Stage } from '@payonce/jobs/work-items';
import { errorText } from '@payonce/leases/error-text';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { FollowUp } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';

export interface ReceiptStore {
  /** Writes a JSON text under a name; the same name again overwrites it. */
  write(name: string, json: string, signal: AbortSignal): Promise<void>;
}

const stageName = 'receipt';
/** Milliseconds. */
const writeMs = 10_000;

/** Receipts that one process writes at once. They share a storage account with the leases, whose renewals would wait behind more. */
const writtenAtOnce = 16;

export const receiptFollowUp: FollowUp = {
  name: stageName,
  on: ['paid'],
  order({ invoice, end }) {
    if (end.kind !== 'paid') return undefined;
    const { invoiceId, customerId, amountMinor, currency, description } = invoice;
    const { paymentId, paidAt } = end;
    const text = description === undefined ? {} : { description };
    const input = { customerId, amountMinor, currency, paymentId, paidAt, ...text };
    return { resourceId: invoiceId, stage: stageName, input };
  },
};

const receiptInput = z.object({
  customerId: z.string(),
  amountMinor: z.int().positive(),
  currency: z.string(),
  paymentId: z.string(),
  paidAt: z.string(),
  description: z.string().exactOptional(),
});

/** The stage that writes the receipt of a paid invoice: the same however often it is written, so it needs no lease. */
export function receiptStage(receipts: ReceiptStore): Stage {
  const limit = pLimit(writtenAtOnce);
  return defineStage({
    name: stageName,
    lease: false,
    input: receiptInput,
    async handle(input, { resourceId, signal }) {
      const { name, json } = receiptOf({ invoiceId: resourceId, ...input });
      await limit(() => receipts.write(name, json, signal)).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new RetryLater(`the receipt was not stored: ${errorText(error)}`, { cause: error });
      });
      return { blob: name };
    },
  });
}

/** The receipt of an invoice, as a text under its name. Pure. */
function receiptOf(receipt: z.infer<typeof receiptInput> & { invoiceId: string }) {
  return { name: receiptName(receipt.invoiceId, receipt.paymentId), json: JSON.stringify(receipt, null, 2) };
}

/** Writes the receipt of a paid invoice in the place of the one that is there. */
export function receiptWriter(receipts: ReceiptStore) {
  return async ({ id: invoiceId, customerId, amountMinor, currency, payment }: Omit<Invoice, '_etag'>) => {
    const { id: paymentId, paidAt } = payment;
    if (paymentId === undefined || paidAt === undefined) return;
    const { name, json } = receiptOf({ invoiceId, customerId, amountMinor, currency, paymentId, paidAt });
    await receipts.write(name, json, AbortSignal.timeout(writeMs));
  };
}

/** A blob name that is safe for any invoice id: readable if the id is plain, otherwise its hash. */
export function receiptName(invoiceId: string, paymentId: string): string {
  const plain = /^[\w.-]{1,200}$/.test(invoiceId) && !invoiceId.endsWith('.');
  return `${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('hex')}/${paymentId}.json`;
}
