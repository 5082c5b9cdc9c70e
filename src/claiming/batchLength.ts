import type { Invoice } from '../invoice/invoice.ts';

/**
 * Bytes for the commands of one batch: a Service Bus message holds 256 KB in the standard tier
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas), and the envelope needs some of it.
 */
const maxBytes = 192 * 1024;
/** Upper bound of what a command holds besides the invoice's own texts, in bytes. */
const commandBytes = 480;

/** Number of invoices of a page, from its beginning, that go into one batch: at most `most`, if their message fits Service Bus. Pure. */
export function batchLength(page: readonly Invoice[], most: number): number {
  let bytes = 0;
  for (const [index, invoice] of page.slice(0, most).entries()) {
    bytes += commandBytes + textBytes(invoice);
    if (index > 0 && bytes > maxBytes) return index;
  }
  return Math.min(page.length, most);
}

/** Size as JSON, in which a quote or a line feed counts twice. */
function textBytes({ id, customerId, paymentMethod, description }: Invoice): number {
  return Buffer.byteLength(JSON.stringify([id, customerId, paymentMethod, description]));
}
