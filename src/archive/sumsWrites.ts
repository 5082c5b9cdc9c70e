import type { Operation } from '../documents/documentStore.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { type SumsDocument, withInvoices } from './archivedSums.ts';

/**
 * The operations that add invoices to the sums of their shard, or take them away. Each holds only for the sums as they were
 * read, so two that move invoices at the same time count all of them. Pure.
 */
export function sumsWrites(
  stored: readonly SumsDocument[],
  { shard, invoices, direction }: { shard: string; invoices: readonly Invoice[]; direction: 1 | -1 },
): Operation[] {
  const versions = new Map(stored.map(({ id, _etag }) => [id, _etag]));
  return [...withInvoices(stored, invoices, direction)].map(([id, sums]): Operation => {
    const document = { id, shard, type: 'archivedSums', sums };
    const version = versions.get(id);
    return version === undefined ? { kind: 'create', document } : { kind: 'replace', document, version };
  });
}
