import type { InvoiceContent } from './invoice.ts';

/** Kinds of texts by which a search finds invoices. */
export type TermKind = 'invoice' | 'customer' | 'word';

/** Words of a description that are kept, which bounds what an import writes into the index. */
const mostWords = 8;

/**
 * The texts by which a search finds an invoice: its id, its customer and the first words of its description, in small letters,
 * each behind its kind. The index finds an element of an array by its beginning, but no word inside a text. Pure.
 */
export function searchTerms(content: Pick<InvoiceContent, 'id' | 'customerId' | 'description'>): string[] {
  const { id, customerId, description = '' } = content;
  const words = new Set(wordsOf(description));
  return [
    termOf('invoice', id),
    termOf('customer', customerId),
    ...[...words].slice(0, mostWords).map((word) => termOf('word', word)),
  ];
}

/** A term, or the beginning of one. Pure. */
export function termOf(kind: TermKind, text: string): string {
  return `${kind} ${text.toLowerCase()}`;
}

/** The words of a text in small letters. Pure. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
