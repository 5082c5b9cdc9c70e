import { type DocumentStore, NoClearAnswer } from '../../documents/documentStore.ts';
import { newWriteId, readableDocuments } from '../../documents/storedDocuments.ts';
import { writeUntilClear } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FigureKeeper } from '../figures/figureKeeper.ts';
import { type Invoice, invoiceSchema } from '../invoice.ts';
import { hasWrite, ifUnchanged, namedWrite } from '../invoiceChange.ts';
import type { ChangedInvoices, ChangeRequest } from './invoiceStore.ts';

/** Changes several invoices of one shard in one transaction, each decided on what is stored; see `InvoiceStore.change`. */
export async function changeInvoices<R>(
  store: { documents: DocumentStore; clock: Clock; figures: FigureKeeper },
  { shard, ids, decide, beforeTry }: ChangeRequest<R>,
): Promise<ChangedInvoices<R>> {
  const refused = new Map<string, R>();
  const found = await read(ids);
  const known = new Set(found.map(({ id }) => id));
  const missing = ids.filter((id) => !known.has(id));
  const { figures } = store;
  const write = newWriteId();
  const written = await writeUntilClear(store, {
    partition: shard,
    items: decided(found),
    plan(items) {
      const patches = items.map(({ invoice, change }) => ifUnchanged(invoice, namedWrite(change, write)));
      const before = items.map(({ invoice }) => invoice);
      return figures.patching(shard, patches, before);
    },
    onRefused: (operations, codes) => figures.refused(shard, operations, codes),
    reread: (items) => read(items.map(({ invoice }) => invoice.id)),
    // A transaction is whole: one invoice shows it for all.
    isApplied: (stored) => stored.some((invoice) => hasWrite(invoice, write)),
    keep: (_items, stored) => decided(stored),
    ...(beforeTry === undefined ? {} : { beforeTry }),
  });
  if (written.kind === 'unclear') {
    throw new NoClearAnswer(`invoices of shard ${shard} could not be changed`, written.tries, written.cause);
  }
  const changed = written.kind === 'written' ? written.items.map(({ invoice }) => invoice.id) : [];
  return { changed, refused, missing };

  function decided(invoices: readonly Invoice[]) {
    return invoices.flatMap((invoice) => {
      const decision = decide(invoice);
      if (decision.kind === 'change') return [{ invoice, change: decision.change }];
      refused.set(invoice.id, decision.why);
      return [];
    });
  }

  async function read(some: readonly string[]): Promise<Invoice[]> {
    return readableDocuments(await store.documents.read(shard, some), invoiceSchema, 'invoice');
  }
}
