import type { Invoice } from '../invoice/invoice.ts';
import { companyOf, isolatedAttempt } from '../invoice/isolation.ts';

/**
 * Bytes for the commands of one batch: a Service Bus message holds 256 KB in the standard tier
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas), and the envelope needs some of it.
 */
const maxBytes = 192 * 1024;
/** Upper bound of what a command holds besides the invoice's own texts, in bytes. */
const commandBytes = 480;

/**
 * The invoices of a page that go into one batch with its first, at most `size` of them. What is to be tried apart goes only
 * with what is tried apart on the same attempt, in small company. Pure.
 */
export function nextBatch(page: readonly Invoice[], size: number, batchSize: number): readonly Invoice[] {
  const [first] = page;
  if (first === undefined) return [];
  const attempt = isolatedAttempt(first);
  const most = attempt === undefined ? size : Math.min(size, companyOf(attempt, batchSize));
  const same = page.filter((invoice) => isolatedAttempt(invoice) === attempt);
  return batchesOf(same, most)[0] ?? [];
}

/** Cuts a page of invoices into batches of at most `batchSize` whose message fits Service Bus. Keeps the order. */
export function batchesOf(page: readonly Invoice[], batchSize: number): Invoice[][] {
  const batches: Invoice[][] = [];
  let batch: Invoice[] = [];
  let bytes = 0;
  for (const invoice of page) {
    const size = commandBytes + textBytes(invoice);
    if (batch.length === batchSize || (batch.length > 0 && bytes + size > maxBytes)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(invoice);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Size as JSON, in which a quote or a line feed counts twice. */
function textBytes({ id, customerId, paymentMethod, description }: Invoice): number {
  return Buffer.byteLength(JSON.stringify([id, customerId, paymentMethod, description]));
}
