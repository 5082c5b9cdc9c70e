/**
 * The job behind `POST ops/bulk`. It goes piece by piece, each recorded before it is begun (`keepsPiece`), so a run that was killed
 * goes on where it was, with exact counts. Doing a piece twice changes nothing: an invoice names the run that has retried it, a
 * message the run that has redriven it, and what was discarded is gone.
 */

import type { Instance } from '@payonce/jobs/instance';
import { defineJob, type GroupRun, Idle, type Job, type RunSoFar } from '@payonce/jobs/runs';
import { z } from 'zod';
import type { CorrectionParts } from '../../after/corrections.ts';
import { amountCounts } from '../../invoice/amountCounts.ts';
import type { InvoiceStore } from '../../invoice/store/invoiceStore.ts';
import { jobNames } from '../../platform/azureNames.ts';
import { intend, type Recording } from '../audit.ts';
import {
  canRetry,
  type InvoicePiece,
  invoicePieces,
  type PieceDone,
  retryPiece,
  voidPiece,
} from './bulkInvoices.ts';
import { type MessageParts, type MessagePiece, messagePieces, movePiece } from './bulkMessages.ts';
import { type BulkRequest, bulkRequestSchema, refusedBy, refusedDetail } from './bulkRequest.ts';

/** Two groups: invoices and messages are worked on side by side, and otherwise one run at a time. */
export const bulkGroups = {
  retry: 'invoices',
  void: 'invoices',
  redrive: 'messages',
  discard: 'messages',
} as const;

type Piece = InvoicePiece | MessagePiece;

const pieceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('invoices'), shard: z.string(), ids: z.array(z.string()) }),
  z.object({
    kind: z.literal('messages'),
    source: z.string(),
    ids: z.array(z.string()),
    outOfReach: z.literal(true).exactOptional(),
  }),
]);

export interface BulkParts extends MessageParts, Recording {
  invoices: InvoiceStore;
  corrections: CorrectionParts;
  instance: Instance;
}

export function bulkJob(parts: BulkParts): Job {
  const { invoices, corrections, instance } = parts;
  const iso = () => new Date(instance.clock.now()).toISOString();

  return defineJob<Piece>({
    name: jobNames.bulk,
    groups: [...new Set(Object.values(bulkGroups))],
    keepsPiece: true,

    async *plan(_group, { run, dryRun }) {
      if (run === undefined) throw new Error('a bulk run needs a request');
      const request = bulkRequestSchema.parse(run.request);
      const { retried = 0, voided = 0, redriven = 0, discarded = 0 } = run.counts;
      let left = (request.cap ?? Number.POSITIVE_INFINITY) - retried - voided - redriven - discarded;
      for await (const piece of pieces(request, run, dryRun)) {
        if (left <= 0) return;
        if (piece instanceof Idle) {
          yield piece;
          continue;
        }
        const ids = piece.ids.slice(0, left);
        left -= ids.length;
        yield { ...piece, ids };
      }
    },

    async process(given, { runId, request: asked, again = false, lease }) {
      const request = bulkRequestSchema.parse(asked);
      const piece = pieceSchema.parse(given);
      const { reason } = request;
      const about = { action: `bulk ${request.action}`, targets: piece.ids, changes: { reason, runId } };
      const intent = await intend(parts, request, about);
      const { counts, refused } = await work(request, piece, { runId, again, lease });
      await intent.record(`bulk/${runId}`, { reason, ...counts, ids: piece.ids.join(' ') });
      if (refused.length > 0) await intent.record(refusedBy(runId), refusedDetail(refused));
      return { counts };
    },

    preview: (piece) => ({
      matching: piece.ids.length,
      ...(piece.kind === 'invoices' ? amountCounts((piece.amounts ?? []).slice(0, piece.ids.length)) : {}),
    }),
  });

  function pieces(request: BulkRequest, { runId }: RunSoFar, dryRun: boolean): AsyncIterable<Piece | Idle> {
    switch (request.action) {
      case 'retry':
        return invoicePieces(invoices, request.filter, {
          isOpen: (invoice) => canRetry(invoice, iso()),
          dryRun,
        });
      case 'void':
        return invoicePieces(invoices, request.filter, { isOpen: () => true, dryRun });
      case 'redrive':
      case 'discard':
        return messagePieces(parts, request.filter, { runId, dryRun });
    }
  }

  async function work(
    request: BulkRequest,
    piece: Piece,
    { runId, again, lease }: Pick<GroupRun, 'runId' | 'lease'> & { again: boolean },
  ): Promise<PieceDone> {
    const { action, actor, reason } = request;
    const who = { runId, actor, reason, assertHeld: () => lease.assertHeld() };
    if ((action === 'redrive' || action === 'discard') && piece.kind === 'messages')
      return { counts: await movePiece(parts, action, piece, { ...who, again, at: iso() }), refused: [] };
    if (action === 'retry' && piece.kind === 'invoices')
      return retryPiece({ invoices, instance }, piece, request.filter, who);
    if (action === 'void' && piece.kind === 'invoices')
      return voidPiece(corrections, piece, request.filter, who);
    throw new Error(`a bulk ${action} has no ${piece.kind}`);
  }
}
