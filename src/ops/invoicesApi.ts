import type { Container } from '@azure/cosmos';
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { importInvoices } from '../invoices/importInvoices.ts';
import { type InvoiceStatus, invoiceStatuses } from '../invoices/invoice.ts';
import { BadContinuation, listInvoices } from '../invoices/listInvoices.ts';
import { parseInvoices } from '../invoices/parseInvoices.ts';
import { readInvoice } from '../invoices/readInvoices.ts';
import { shardOf } from '../invoices/shard.ts';
import type { Clock } from '../platform/clock.ts';
import { cosmosStatus, statusOf } from '../platform/cosmosErrors.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { type Audit, actorOf } from './audit.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';

const pageSize = 100;

interface Dependencies {
  container: Container;
  clock: Clock;
  shards: number;
  audit: Audit;
}

/** `POST ops/invoices`: stores the good rows and names the bad ones. */
export async function importInvoicesFrom(
  request: HttpRequest,
  dependencies: Dependencies,
): Promise<HttpResponseInit> {
  const body = Buffer.from(await request.arrayBuffer());
  const parsed = parseInvoices(body, request.headers.get('content-type'));
  if (parsed.kind === 'problem') return problemResponse(parsed.problem);
  const actor = actorOf(request.headers);
  const { created, duplicates, rejected } = await importInvoices(dependencies, parsed.rows, actor);
  const all = [...parsed.rejected, ...rejected].toSorted((a, b) => a.index - b.index);
  const result = { created, duplicates: duplicates + parsed.duplicates, rejected: all };
  await dependencies.audit({
    actor,
    action: 'import invoices',
    target: 'invoices',
    detail: { created, duplicates: result.duplicates, rejected: all.length },
  });
  return { jsonBody: result };
}

/** `GET ops/invoices?status=&continuation=`: a page of invoices. */
export async function listInvoicesFor(
  request: HttpRequest,
  { container }: Dependencies,
): Promise<HttpResponseInit> {
  const status = request.query.get('status');
  const continuation = request.query.get('continuation');
  if (status !== null && !isStatus(status)) {
    return problemResponse(
      problem(400, 'The query has a wrong value.', [
        { field: 'status', error: `expected one of ${invoiceStatuses.join(', ')}, got "${status}"` },
      ]),
    );
  }
  try {
    const page = await listInvoices(container, {
      pageSize,
      ...(status === null ? {} : { status }),
      ...(continuation === null ? {} : { continuation }),
    });
    return {
      jsonBody: { invoices: page.invoices.map(invoiceView), continuation: page.continuation ?? null },
    };
  } catch (error) {
    const bad = error instanceof BadContinuation || statusOf(error) === cosmosStatus.badRequest;
    if (continuation === null || !bad) throw error;
    return problemResponse(
      problem(400, 'The query has a wrong value.', [
        { field: 'continuation', error: 'expected what an earlier page gave as "continuation"' },
      ]),
    );
  }
}

/** `GET ops/invoices/{id}`: one invoice with its timeline. */
export async function getInvoice(
  request: HttpRequest,
  { container, shards }: Dependencies,
): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const invoice = await readInvoice(container, shardOf(id, shards), id);
  if (invoice === undefined) {
    return problemResponse(problem(404, `there is no invoice "${id}"`));
  }
  return { jsonBody: invoiceDetail(invoice) };
}

function isStatus(text: string): text is InvoiceStatus {
  return (invoiceStatuses as readonly string[]).includes(text);
}
