import { contentSchema, type InvoiceContent } from './invoice.ts';

/** What an importer gives for an invoice, and what therefore makes two of them the same. */
const contentFields = contentSchema.keyof().options;

/** Whether two invoices say the same; what became of a stored one meanwhile does not count. Times are normalised. */
export function sameContent(one: InvoiceContent, other: InvoiceContent): boolean {
  return contentFields.every((field) => one[field] === other[field]);
}
