import type { InvoiceStore, Updated, UpdateRequest } from '../invoice/store/invoiceStore.ts';
import type { InvoiceArchive } from './invoiceArchive.ts';

/**
 * The same store, in which archived invoices can be read and changed, too: one that is to change is restored first. So a
 * refund, a correction or an event of the provider need not know where an invoice is.
 */
export function withArchive<Store extends Pick<InvoiceStore, 'find' | 'update'>>(
  invoices: Store,
  archive: InvoiceArchive,
  by: string,
): Store {
  return {
    ...invoices,
    async find(id) {
      return (await invoices.find(id)) ?? (await archive.find(id));
    },
    async update<R>(id: string, request: UpdateRequest<R>): Promise<Updated<R>> {
      const updated = await invoices.update(id, request);
      if (updated.kind !== 'notFound') return updated;
      const archived = await archive.find(id);
      if (archived === undefined) return updated;
      // Only to see if it is worth a restore: it is decided again on what is restored, under a name of its own.
      const decided = request.decide(archived, '');
      if (decided.kind === 'refuse') return { kind: 'refused', why: decided.why };
      await archive.restore(id, { by });
      return invoices.update(id, request);
    },
  };
}
