import { createHash } from 'node:crypto';
import type { ContainerClient } from '@azure/storage-blob';
import { z } from 'zod';
import { defineStage, type Stage } from '../workItems/defineStage.ts';

/** Milliseconds for the upload with its repetitions: on a socket that swallows everything the SDK waits for ever. */
const uploadTimeoutMs = 30_000;

/** The stage that writes the receipt of a paid invoice to blob storage. Idempotent by name: one blob per payment. */
export function receiptStage(
  receipts: Pick<ContainerClient, 'getBlockBlobClient'>,
  { timeoutMs = uploadTimeoutMs }: { timeoutMs?: number } = {},
): Stage {
  return defineStage({
    name: 'receipt',
    input: z.strictObject({
      customerId: z.string(),
      amountMinor: z.int().positive(),
      currency: z.string(),
      paymentId: z.string(),
      paidAt: z.string(),
      description: z.string().exactOptional(),
    }),
    async handle(input, { resourceId, signal }) {
      const blob = receiptName(resourceId, input.paymentId);
      const text = JSON.stringify({ invoiceId: resourceId, ...input }, null, 2);
      await receipts.getBlockBlobClient(blob).upload(text, Buffer.byteLength(text), {
        blobHTTPHeaders: { blobContentType: 'application/json' },
        abortSignal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      return { blob };
    },
  });
}

/** A blob name without surprises for any invoice id: readable where the id is plain, else its hash. */
export function receiptName(invoiceId: string, paymentId: string): string {
  const plain = /^[\w.-]{1,200}$/.test(invoiceId) && !invoiceId.endsWith('.');
  return `${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('hex')}/${paymentId}.json`;
}
