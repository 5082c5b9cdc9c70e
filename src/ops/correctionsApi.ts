import { z } from 'zod';
import type { CorrectionParts } from '../corrections/corrections.ts';
import { moveDueDate } from '../corrections/moveDueDate.ts';
import { retryInvoice } from '../corrections/retryInvoice.ts';
import { voidInvoice } from '../corrections/voidInvoice.ts';
import { dueAtSchema, paymentMethodSchema } from '../intake/checkInvoice.ts';
import type { AuditEntry, AuditTrail } from './audit.ts';
import { whyNotMoved, whyNotRetried, whyNotVoided } from './correctionProblems.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { invoiceDetail } from './invoiceView.ts';
import { readBody, reasonBodySchema, reasonSchema } from './requests.ts';

interface Parts {
  corrections: CorrectionParts;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
  audit: AuditTrail;
  /** Who calls, for the audit trail. */
  actor: string;
}

/** A caller who says that nothing was charged has to say how they know. */
export const retrySchema = reasonBodySchema
  .extend({
    notCharged: z.literal(true, { error: 'expected true, or nothing' }).exactOptional(),
    paymentMethod: paymentMethodSchema.exactOptional(),
  })
  .refine(({ reason, notCharged }) => notCharged === undefined || reason !== undefined, {
    path: ['reason'],
    error: 'expected how it was found out that nothing was charged',
  });

/**
 * `POST ops/invoices/{id}/retry` `{reason?, notCharged?, paymentMethod?}`: the next run pays a parked or declined
 * invoice, or one that waits for a later try.
 */
export async function retryInvoiceFor(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, retrySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const { reason, notCharged = false, paymentMethod } = asked.value;
  const { corrections, actor } = parts;
  const retried = await retryInvoice(corrections, id, {
    actor,
    notCharged,
    ...(reason === undefined ? {} : { reason }),
    ...(paymentMethod === undefined ? {} : { paymentMethod }),
  });
  const detail = {
    notCharged,
    reason: reason ?? null,
    ...(paymentMethod === undefined ? {} : { paymentMethod }),
  };
  const record = recordFor(parts, 'retry invoice', id);
  switch (retried.kind) {
    case 'retried': {
      const { from, invoice } = retried;
      await record({ from, keyNumber: invoice.payment.keyNumber, ...detail });
      return { jsonBody: invoiceDetail(invoice, parts) };
    }
    case 'recorded': {
      const { from, status, paymentId } = retried;
      await record({ from, ...detail, outcome: status, paymentId });
      return whyNotRetried(id, retried);
    }
    case 'notFound':
    case 'refused':
    case 'mayBeCharged':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotRetried(id, retried);
  }
}

export const voidSchema = z.strictObject({ reason: reasonSchema });

/** `POST ops/invoices/{id}/void` `{reason}`: an unpaid invoice is never paid. */
export async function voidInvoiceFor(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, voidSchema);
  if (!asked.ok) return asked.response;
  const { reason } = asked.value;
  const { corrections, actor } = parts;
  const result = await voidInvoice(corrections, id, { actor, reason });
  const record = recordFor(parts, 'void invoice', id);
  switch (result.kind) {
    case 'voided': {
      // The first answer may have been lost before it was recorded here.
      const { from, repeated } = result;
      await record({ reason, outcome: 'voided', ...(repeated ? { repeated } : { from }) });
      return { jsonBody: invoiceDetail(result.invoice, parts) };
    }
    case 'recorded':
      await record({ reason, from: result.from, outcome: result.status, paymentId: result.paymentId });
      return whyNotVoided(id, result);
    case 'notCanceled':
      await record({ reason, outcome: 'not canceled', paymentId: result.paymentId });
      return whyNotVoided(id, result);
    case 'notFound':
    case 'refused':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotVoided(id, result);
  }
}

export const dueDateSchema = z.strictObject({ dueAt: dueAtSchema });

/** `PATCH ops/invoices/{id}` `{dueAt}`: moves the due date of a pending invoice. */
export async function moveDueDateFor(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, dueDateSchema);
  if (!asked.ok) return asked.response;
  const { dueAt } = asked.value;
  const moved = await moveDueDate(parts.corrections, id, { actor: parts.actor, dueAt });
  if (moved.kind !== 'moved') return whyNotMoved(id, moved);
  await recordFor(parts, 'move due date', id)({ from: moved.before, to: dueAt });
  return { jsonBody: invoiceDetail(moved.invoice, parts) };
}

/** Records what came of a request. */
function recordFor({ audit, actor }: Parts, action: string, target: string) {
  return (detail: NonNullable<AuditEntry['detail']>) => audit.append({ actor, action, target, detail });
}
