import { z } from 'zod';
import { importInvoices, parseInvoices } from '../intake/importInvoices.ts';
import { ShardsChanged } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { invoiceFilterSchema } from './invoiceQuery.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';
import { notFound, pageResponse, readQuery } from './requests.ts';

const pageSize = 100;
/** Characters of a store's error that the audit trail keeps. */
const longestFailure = 300;

interface Parts {
  invoices: InvoiceStore;
  /** @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

/** `POST ops/invoices`: stores the good rows, and names the bad ones and those that may not have been stored. */
export async function importInvoicesFrom(
  request: OpsRequest,
  { invoices, checkShards, audit, actor }: Parts,
): Promise<OpsResponse> {
  const body = Buffer.from(await request.arrayBuffer());
  const parsed = parseInvoices(body, request.headers.get('content-type'));
  if (parsed.kind === 'problem') return problemResponse(parsed.problem);
  try {
    await checkShards();
  } catch (error) {
    if (!(error instanceof ShardsChanged)) throw error;
    return problemResponse(problem(500, error.message));
  }
  const { created, duplicates, rejected, failure } = await importInvoices(invoices, parsed.rows, actor);
  const all = [...parsed.rejected, ...rejected].toSorted((a, b) => a.index - b.index);
  const result = { created, duplicates: duplicates + parsed.duplicates, rejected: all };
  await audit.append({
    actor,
    action: 'import invoices',
    target: 'invoices',
    detail: {
      created,
      duplicates: result.duplicates,
      rejected: all.length,
      ...(failure === undefined ? {} : { failure: errorText(failure).slice(0, longestFailure) }),
    },
  });
  return { jsonBody: result };
}

export const invoicesQuery = invoiceFilterSchema.extend({ continuation: z.string().exactOptional() });

/**
 * `GET ops/invoices?customer=&currency=&status=&dueAfter=&dueBefore=&continuation=`: a page of the invoices that match, in
 * the order of shard and id; due at `dueAfter` or later, and before `dueBefore`.
 */
export async function listInvoices(
  request: OpsRequest,
  { invoices }: Pick<Parts, 'invoices'>,
): Promise<OpsResponse> {
  const query = readQuery(request, invoicesQuery);
  if (!query.ok) return query.response;
  return pageResponse('invoices', invoices.list({ pageSize, ...query.value }), invoiceView);
}

/** `GET ops/invoices/{id}`: one invoice with its timeline. */
export async function getInvoice(
  request: OpsRequest,
  { invoices, refunds }: Pick<Parts, 'invoices' | 'refunds'>,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const invoice = await invoices.find(id);
  return invoice === undefined
    ? notFound(`invoice "${id}"`)
    : { jsonBody: invoiceDetail(invoice, { refunds }) };
}
