import { z } from 'zod';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { invoiceFilterSchema } from './invoiceQuery.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';
import { notFound, pageResponse, readQuery } from './requests.ts';

const pageSize = 100;

interface Parts {
  invoices: InvoiceStore;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
}

export const invoicesQuery = invoiceFilterSchema.extend({ continuation: z.string().exactOptional() });

/**
 * `GET ops/invoices?customer=&currency=&status=&dueAfter=&dueBefore=&continuation=`: a page of the invoices that match, in
 * the order of shard and id; due at `dueAfter` or later, and before `dueBefore`.
 */
export async function listInvoices(request: OpsRequest, { invoices }: Parts): Promise<OpsResponse> {
  const query = readQuery(request, invoicesQuery);
  if (!query.ok) return query.response;
  return pageResponse('invoices', invoices.list({ pageSize, ...query.value }), invoiceView);
}

/** `GET ops/invoices/{id}`: one invoice with its timeline. */
export async function getInvoice(request: OpsRequest, { invoices, refunds }: Parts): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const invoice = await invoices.find(id);
  return invoice === undefined
    ? notFound(`invoice "${id}"`)
    : { jsonBody: invoiceDetail(invoice, { refunds }) };
}
