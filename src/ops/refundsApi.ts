import { z } from 'zod';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { type RequestedRefund, refundInvoice } from '../refunds/refundInvoice.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { badRequest, conflict, notFound, readBody, reasonSchema } from './requests.ts';

interface Parts {
  invoices: InvoiceStore;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

export const refundSchema = z.strictObject({
  amountMinor: z
    .int({ error: 'expected a whole number of minor units, or nothing for all that is left' })
    .positive({ error: 'expected an amount above 0, or nothing for all that is left' })
    .exactOptional(),
  reason: reasonSchema,
});

const longestKey = 255;

/**
 * `POST ops/invoices/{id}/refund` `{amountMinor?, reason}`, with an `Idempotency-Key`: requests a refund of a paid invoice.
 * The same key stands for the same refund, however often it is sent; with another request under it the answer is 422.
 */
export async function refundInvoiceFor(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const idempotencyKey = request.headers.get('idempotency-key')?.trim() ?? '';
  if (idempotencyKey === '' || idempotencyKey.length > longestKey) {
    const error = `expected a header of 1 to ${longestKey} characters that names this refund, and no other of the invoice`;
    return badRequest([{ field: 'Idempotency-Key', error }]);
  }
  const asked = await readBody(request, refundSchema);
  if (!asked.ok) return asked.response;
  const { audit, actor, refunds } = parts;
  if (!refunds) return conflict('the payment provider offers no refunds: expected one that does');
  const requested = await refundInvoice(parts, id, { ...asked.value, by: actor, idempotencyKey });
  if (requested.kind !== 'requested') return refusal(id, requested, asked.value);
  const { refund, created } = requested;
  if (created) {
    const { reason } = asked.value;
    const detail = { refundId: refund.id, amountMinor: refund.amountMinor, reason };
    await audit.append({ actor, action: 'refund invoice', target: id, detail });
  }
  return { status: 202, jsonBody: { refundId: refund.id, status: refund.status } };
}

function refusal(
  id: string,
  refused: Exclude<RequestedRefund, { kind: 'requested' }>,
  { amountMinor }: z.infer<typeof refundSchema>,
): OpsResponse {
  switch (refused.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'notPaid':
      return conflict(
        `invoice "${id}" is ${refused.status}: expected one that is paid, only those are refunded`,
      );
    case 'tooMuch': {
      const { leftMinor } = refused;
      const left = leftMinor === 0 ? 'nothing is left' : `${leftMinor} is left (in minor units)`;
      const got = amountMinor === undefined ? '' : `: expected no more than that, got ${amountMinor}`;
      return conflict(`${left} of invoice "${id}" to refund${got}`);
    }
    case 'tooMany':
      return conflict(`invoice "${id}" has ${refused.most} refunds: expected fewer`);
    case 'badAmount':
      return badRequest([{ field: 'amountMinor', error: refused.error }]);
    case 'otherRequest': {
      const { amountMinor: before, rest, reason = 'none' } = refused.refund;
      const of = rest === true ? `all that was left (${before})` : `${before}`;
      return problemResponse(
        problem(422, 'This Idempotency-Key stands for another refund of the invoice.', [
          {
            field: 'Idempotency-Key',
            error: `expected a new key, or the same request as before: ${of}, for the reason "${reason}"`,
          },
        ]),
      );
    }
  }
}
