import { z } from 'zod';
import {
  fileBegunAnswer,
  importAnswer,
  importsAnswer,
  importViewAnswer,
  rejectedAnswer,
} from '../../../src/ops/answers/importAnswers.ts';
import {
  invoiceDetailAnswer,
  invoicesAnswer,
  refundAnswer,
  searchAnswer,
  totalsAnswer,
} from '../../../src/ops/answers/invoiceAnswers.ts';
import { leasesAnswer, releasedAnswer } from '../../../src/ops/answers/leaseAnswers.ts';
import {
  deadLettersAnswer,
  outboxAnswer,
  outboxMessageAnswer,
  redrivenAnswer,
} from '../../../src/ops/answers/messageAnswers.ts';
import { meAnswer, overviewAnswer } from '../../../src/ops/answers/overviewAnswers.ts';
import { pauseInForceAnswer } from '../../../src/ops/answers/pauseAnswers.ts';
import { auditAnswer, reportAnswer } from '../../../src/ops/answers/reportAnswers.ts';
import { refusedAnswer, runAnswer, runsAnswer, startedAnswer } from '../../../src/ops/answers/runAnswers.ts';
import { call } from './call.ts';

type Query = Readonly<Record<string, string | undefined>>;

/** A path with those parameters that have a value. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

const one = (kind: string, id: string) => `${kind}/${encodeURIComponent(id)}`;
const post = (body: unknown) => ({ method: 'POST', body }) as const;
/** A change that takes effect once, however often it is sent under the same idempotency key. */
const postOnce = (body: unknown, key: string) => ({ ...post(body), headers: { 'idempotency-key': key } });

/** A change of everything that matches a filter. */
export interface BulkRequest {
  action: 'retry' | 'void' | 'redrive' | 'discard';
  filter: Readonly<Record<string, string | undefined>>;
}

/** The items of all pages of a list. */
export async function allOf<Page extends { continuation: string | null }, Item>(
  load: (query: { continuation: string }) => Promise<Page>,
  itemsIn: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const all: Item[] = [];
  for (let continuation: string | null = ''; continuation !== null;) {
    const page: Page = await load({ continuation });
    all.push(...itemsIn(page));
    ({ continuation } = page);
  }
  return all;
}

/** Every call that the dashboard makes. */
export const api = {
  me: () => call(meAnswer, 'me'),
  overview: () => call(overviewAnswer, 'overview'),
  pauseInForce: () => call(pauseInForceAnswer, 'pause'),
  pause: (body: { reason: string; until?: string }) => call(z.unknown(), 'pause', post(body)),
  resume: (reason?: string) => call(z.unknown(), 'resume', post(reason === undefined ? {} : { reason })),

  invoices: (query: Query) => call(invoicesAnswer, withQuery('invoices', query)),
  totals: (query: Query) => call(totalsAnswer, withQuery('totals', query)),
  search: (text: string) => call(searchAnswer, withQuery('search', { text })),
  invoice: (id: string) => call(invoiceDetailAnswer, one('invoices', id)),
  beginImport: (body: { fileName: string; rows: number; columns: readonly string[]; separator: string }) =>
    call(fileBegunAnswer, 'imports', post(body)),
  importRows: (text: { content: string; type: string }, query: Query) =>
    call(importAnswer, withQuery('invoices', query), { method: 'POST', text }),
  imports: (query: Query) => call(importsAnswer, withQuery('imports', query)),
  import: (id: string) => call(importViewAnswer, one('imports', id)),
  rejected: (importId: string, query: Query) =>
    call(rejectedAnswer, withQuery(`${one('imports', importId)}/rejected`, query)),
  retry: (id: string, body: { reason?: string; notCharged?: true; paymentMethod?: string }) =>
    call(invoiceDetailAnswer, `${one('invoices', id)}/retry`, post(body)),
  void: (id: string, reason: string) =>
    call(invoiceDetailAnswer, `${one('invoices', id)}/void`, post({ reason })),
  undoVoid: (id: string, reason: string) =>
    call(invoiceDetailAnswer, `${one('invoices', id)}/void/undo`, post({ reason })),
  addNote: (id: string, text: string) =>
    call(invoiceDetailAnswer, `${one('invoices', id)}/notes`, post({ text })),
  moveDueDate: (id: string, body: { dueAt: string; reason?: string }) =>
    call(invoiceDetailAnswer, one('invoices', id), { method: 'PATCH', body }),
  refund: (id: string, body: { reason: string; amountMinor: number }, key: string) =>
    call(refundAnswer, `${one('invoices', id)}/refund`, postOnce(body, key)),
  settleRefund: (
    id: string,
    body: { refundId: string; providerId: string; isSame: boolean; reason: string },
  ) => call(invoiceDetailAnswer, `${one('invoices', id)}/refund/settle`, post(body)),

  runs: (query: Query) => call(runsAnswer, withQuery('runs', query)),
  run: (id: string) => call(runAnswer, one('runs', id)),
  refused: (id: string, query: Query) => call(refusedAnswer, withQuery(`${one('runs', id)}/refused`, query)),
  startRun: (body: { job: string; dryRun?: boolean; resume?: string }, key: string) =>
    call(startedAnswer, 'runs', postOnce(body, key)),
  cancelRun: (id: string, reason?: string) =>
    call(runAnswer, `${one('runs', id)}/cancel`, post(reason === undefined ? {} : { reason })),

  bulk: (body: BulkRequest & { reason: string; dryRun?: boolean; cap?: number }, key: string) =>
    call(startedAnswer, 'bulk', postOnce(body, key)),

  leases: () => call(leasesAnswer, 'locks'),
  release: (body: { key: string; expectedOwner: string; reason: string }) =>
    call(releasedAnswer, 'locks/release', post(body)),

  outbox: (query: Query) => call(outboxAnswer, withQuery('outbox', query)),
  redriveOutbox: (id: string, reason?: string) =>
    call(outboxMessageAnswer, `${one('outbox', id)}/redrive`, post(reason === undefined ? {} : { reason })),
  discardOutbox: (id: string, reason: string) =>
    call(outboxMessageAnswer, `${one('outbox', id)}/discard`, post({ reason })),
  deadLetters: (query: Query) => call(deadLettersAnswer, withQuery('dead-letters', query)),
  redrive: (ids: readonly string[]) => call(redrivenAnswer, 'dead-letters/redrive', post({ ids })),
  discard: (ids: readonly string[], reason: string) =>
    call(z.unknown(), 'dead-letters/discard', post({ ids, reason })),

  report: (query: Query) => call(reportAnswer, withQuery('report', query)),
  audit: (query: Query) => call(auditAnswer, withQuery('audit', query)),
};
