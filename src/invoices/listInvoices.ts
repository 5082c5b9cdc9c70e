import type { Container } from '@azure/cosmos';
import { type Invoice, type InvoiceStatus, invoiceSchema } from './invoice.ts';

export interface InvoicePage {
  invoices: Invoice[];
  /** Opaque; absent on the last page. */
  continuation?: string;
}

/** The continuation is none that a page gave. */
export class BadContinuation extends Error {
  override readonly name = 'BadContinuation';
}

/** One page of invoices of all shards, in no particular order. @throws {BadContinuation} */
export async function listInvoices(
  container: Container,
  { status, continuation, pageSize }: { status?: InvoiceStatus; continuation?: string; pageSize: number },
): Promise<InvoicePage> {
  const where = status === undefined ? '' : ' AND c.status = @status';
  const page = await container.items
    .query(
      {
        query: `SELECT * FROM c WHERE c.type = 'invoice'${where}`,
        parameters: status === undefined ? [] : [{ name: '@status', value: status }],
      },
      {
        maxItemCount: pageSize,
        ...(continuation === undefined ? {} : { continuationToken: fromOpaque(continuation) }),
      },
    )
    .fetchNext();
  const invoices = (page.resources ?? []).map((item) => invoiceSchema.parse(item));
  return { invoices, ...(page.continuationToken ? { continuation: toOpaque(page.continuationToken) } : {}) };
}

/** A token of the SDK is JSON; in a URL it is better off without quotes. */
function toOpaque(token: string): string {
  return Buffer.from(token).toString('base64url');
}

function fromOpaque(continuation: string): string {
  const token = Buffer.from(continuation, 'base64url').toString();
  // It travels in a header.
  if (!/^[\x20-\x7e]+$/.test(token)) throw new BadContinuation();
  return token;
}
