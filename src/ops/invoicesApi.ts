import type { Container } from '@azure/cosmos';
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import { importInvoices } from '../intake/importInvoices.ts';
import { parseInvoices } from '../intake/parseInvoices.ts';
import { ShardsChanged } from '../invoice/deployedShards.ts';
import { invoiceStatuses } from '../invoice/invoice.ts';
import { listInvoices } from '../invoice/listInvoices.ts';
import { readInvoice } from '../invoice/readInvoices.ts';
import { retryInvoice } from '../invoice/retryInvoice.ts';
import { shardOf } from '../invoice/shard.ts';
import type { Clock } from '../platform/clock.ts';
import { errorText } from '../platform/errorText.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { type Audit, actorOf } from './audit.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';
import {
  conflict,
  notFound,
  oneOf,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
} from './requests.ts';

const pageSize = 100;
/** Characters of a store's error that the trail keeps. */
const longestFailure = 300;

interface Dependencies {
  container: Container;
  clock: Clock;
  shards: number;
  /** @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
  audit: Audit;
}

/** `POST ops/invoices`: stores the good rows and names the bad ones, and those that could not surely be stored. */
export async function importInvoicesFrom(
  request: HttpRequest,
  dependencies: Dependencies,
): Promise<HttpResponseInit> {
  const body = Buffer.from(await request.arrayBuffer());
  const parsed = parseInvoices(body, request.headers.get('content-type'));
  if (parsed.kind === 'problem') return problemResponse(parsed.problem);
  try {
    await dependencies.checkShards();
  } catch (error) {
    if (!(error instanceof ShardsChanged)) throw error;
    return problemResponse(problem(500, error.message));
  }
  const actor = actorOf(request.headers);
  const { created, duplicates, rejected, failure } = await importInvoices(dependencies, parsed.rows, actor);
  const all = [...parsed.rejected, ...rejected].toSorted((a, b) => a.index - b.index);
  const result = { created, duplicates: duplicates + parsed.duplicates, rejected: all };
  await dependencies.audit({
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

const listQuerySchema = z.object({
  status: oneOf(invoiceStatuses).exactOptional(),
  continuation: z.string().exactOptional(),
});

/** `GET ops/invoices?status=&continuation=`: a page of invoices. */
export async function listInvoicesFor(
  request: HttpRequest,
  { container }: Dependencies,
): Promise<HttpResponseInit> {
  const query = readQuery(request, listQuerySchema);
  if (!query.ok) return query.response;
  return pageResponse('invoices', listInvoices(container, { pageSize, ...query.value }), invoiceView);
}

/** `GET ops/invoices/{id}`: one invoice with its timeline. */
export async function getInvoice(
  request: HttpRequest,
  { container, shards }: Dependencies,
): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const invoice = await readInvoice(container, shardOf(id, shards), id);
  return invoice === undefined ? notFound(`invoice "${id}"`) : { jsonBody: invoiceDetail(invoice) };
}

/** With `notCharged` somebody vouches that the provider has no charge: that wants a reason. */
const retrySchema = reasonBodySchema
  .extend({ notCharged: z.literal(true, { error: 'expected true, or nothing' }).exactOptional() })
  .refine(({ reason, notCharged }) => notCharged === undefined || reason !== undefined, {
    path: ['reason'],
    error: 'expected how it was found out that nothing was charged',
  });

/** `POST ops/invoices/{id}/retry` `{reason?, notCharged?}`: a parked or declined invoice is paid by the next run. */
export async function retryInvoiceFor(
  request: HttpRequest,
  dependencies: Dependencies,
): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const asked = await readBody(request, retrySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const { reason, notCharged = false } = asked.value;
  const actor = actorOf(request.headers);
  const invoice = { id, shard: shardOf(id, dependencies.shards) };
  const retried = await retryInvoice(dependencies, invoice, {
    actor,
    notCharged,
    ...(reason === undefined ? {} : { reason }),
  });
  switch (retried.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'refused':
      return conflict(
        `invoice "${id}" is ${retried.status}: expected one that is parked or declined, only those are retried`,
      );
    case 'retried': {
      const { from, invoice: after } = retried;
      await dependencies.audit({
        actor,
        action: 'retry invoice',
        target: id,
        detail: { from, keyNumber: after.payment.keyNumber, notCharged, reason: reason ?? null },
      });
      return { jsonBody: invoiceDetail(after) };
    }
  }
}
