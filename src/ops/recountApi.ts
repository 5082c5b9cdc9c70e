import { z } from 'zod';
import type { Correction } from '../invoice/figures/recountShard.ts';
import { shardNames } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { UnreadableInvoice } from '../invoice/store/movements.ts';
import type { Clock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { badRequest, readBody, reasonSchema } from './requests.ts';

interface Parts {
  invoices: Pick<InvoiceStore, 'recount'>;
  audit: AuditTrail;
  shards: number;
  instance: Pick<Instance, 'clock'>;
  /** Who calls, for the audit trail. */
  actor: string;
}

export const recountRequestSchema = z.strictObject({
  reason: reasonSchema,
  shards: z.array(z.string()).min(1).exactOptional(),
});

/** Corrections that an answer names; the others are counted. */
const mostShown = 100;
/** No shard is begun after this time, in milliseconds: the platform ends a request after 230 s. */
const withinMs = 120_000;
/** A shard whose invoices change meanwhile is counted again, after a moment. */
const tries = 3;
const pauseMs = 500;

/**
 * `POST ops/recount` `{reason, shards?}`: counts the invoices of all shards, or of these, one shard after the other, and puts
 * right the figures of the summary and of the report. The answer says what was wrong, and which shards are left: because
 * their invoices never stood still (`busy`), or because the time was up (`left`). Those can be asked for again.
 */
export async function recountFigures(
  request: OpsRequest,
  { invoices, audit, shards, instance: { clock }, actor }: Parts,
): Promise<OpsResponse> {
  const asked = await readBody(request, recountRequestSchema);
  if (!asked.ok) return asked.response;
  const names = shardNames(shards);
  const { reason, shards: wanted = names } = asked.value;
  const unknown = wanted.find((shard) => !names.includes(shard));
  if (unknown !== undefined) {
    const error = `expected shards from "${names[0]}" to "${names.at(-1)}", got "${unknown}"`;
    return badRequest([{ field: 'shards', error }]);
  }
  const until = clock.monotonic() + withinMs;
  const corrections: Correction[] = [];
  const done: string[] = [];
  const busy: string[] = [];
  const left: string[] = [];
  let counted = 0;
  try {
    for (const shard of new Set(wanted)) {
      if (clock.monotonic() > until) {
        left.push(shard);
        continue;
      }
      const recounted = await recount(invoices, shard, clock);
      if (recounted.kind === 'busy') {
        busy.push(shard);
        continue;
      }
      done.push(shard);
      counted += recounted.invoices;
      corrections.push(...recounted.corrections);
    }
  } catch (error) {
    if (!(error instanceof UnreadableInvoice)) throw error;
    return problemResponse(problem(500, error.message));
  } finally {
    const detail = { reason, shards: done.length, invoices: counted, corrected: corrections.length };
    await audit.append({ actor, action: 'recount figures', target: 'figures', detail });
  }
  const shown = corrections.slice(0, mostShown).map(({ day = null, ...one }) => ({ day, ...one }));
  return {
    jsonBody: {
      shards: done.length,
      invoices: counted,
      corrected: corrections.length,
      corrections: shown,
      busy,
      left,
    },
  };
}

async function recount(invoices: Parts['invoices'], shard: string, clock: Clock) {
  for (let tried = 1; ; tried++) {
    const recounted = await invoices.recount(shard);
    if (recounted.kind === 'recounted' || tried === tries) return recounted;
    await clock.sleep(pauseMs);
  }
}
