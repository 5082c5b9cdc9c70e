/** What an invoice can be; invoice.ts says who moves it. */
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
