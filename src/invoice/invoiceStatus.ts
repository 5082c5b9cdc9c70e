/** States of an invoice (invoice.ts). A file of its own, since the dashboard is built from it. */
export const invoiceStatuses = [
  'pending',
  'claimed',
  'processing',
  'paid',
  'declined',
  'parked',
  'voided',
] as const;
export type InvoiceStatus = (typeof invoiceStatuses)[number];
