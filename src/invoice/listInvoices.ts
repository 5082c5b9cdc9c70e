import type { Container } from '@azure/cosmos';
import { type Page, queryPage } from '../documents/pages.ts';
import { readable } from '../documents/readable.ts';
import { type Invoice, type InvoiceStatus, invoiceSchema } from './invoice.ts';

/** One page of invoices of all shards, in no particular order; without those that cannot be read. @throws {BadContinuation} */
export async function listInvoices(
  container: Container,
  { status, ...page }: { status?: InvoiceStatus; continuation?: string; pageSize: number },
): Promise<Page<Invoice>> {
  const where = status === undefined ? '' : ' AND c.status = @status';
  const { items, ...rest } = await queryPage(
    container,
    {
      query: `SELECT * FROM c WHERE c.type = 'invoice'${where}`,
      parameters: status === undefined ? [] : [{ name: '@status', value: status }],
    },
    page,
  );
  return { items: readable(items, invoiceSchema, 'invoice'), ...rest };
}
