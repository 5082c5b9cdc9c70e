import { z } from 'zod';
import type { InvoiceArchive } from '../archive/invoiceArchive.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { invoiceDetail } from './invoiceView.ts';
import { conflict, notFound, readBody, reasonSchema } from './requests.ts';

interface Parts {
  invoices: Pick<InvoiceStore, 'find'>;
  archive: InvoiceArchive;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
  audit: AuditTrail;
  /** Who calls, for the audit trail. */
  actor: string;
}

export const restoreSchema = z.strictObject({ reason: reasonSchema });

/** `POST ops/invoices/{id}/restore` `{reason}`: puts an archived invoice back into the database, as it was. */
export async function restoreInvoiceFor(
  request: OpsRequest,
  { invoices, archive, refunds, audit, actor }: Parts,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const asked = await readBody(request, restoreSchema);
  if (!asked.ok) return asked.response;
  const { reason } = asked.value;
  const restored = await archive.restore(id, { by: actor, reason });
  switch (restored.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'notArchived':
      return conflict(`invoice "${id}" is not in the archive: expected one that is`);
    case 'restored': {
      const detail = { reason, archivedAt: restored.archivedAt };
      await audit.append({ actor, action: 'restore invoice', target: id, detail });
      const invoice = await invoices.find(id);
      return invoice === undefined
        ? notFound(`invoice "${id}"`)
        : { jsonBody: invoiceDetail(invoice, { refunds }) };
    }
  }
}
