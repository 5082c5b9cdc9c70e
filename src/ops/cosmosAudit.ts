import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { formatVersion, type OnUnreadable, readableDocuments } from '@payonce/jobs/documents';
import { fromCosmos, type ListByTime, pageByTime } from '@payonce/jobs/documents/cosmos';
import type { Clock } from '@payonce/leases/clock';
import { auditRecord } from './answers/reportAnswers.ts';
import type { AuditTrail } from './audit.ts';

/** The audit trail in the Cosmos container `audit`, partitioned by day. */
export function cosmosAudit(container: Container, clock: Clock, onUnreadable?: OnUnreadable): AuditTrail {
  return {
    async append(entry) {
      const at = new Date(clock.now()).toISOString();
      const record = { id: randomUUID(), day: at.slice(0, 10), at, version: formatVersion, ...entry };
      await fromCosmos(() => container.items.create(record));
    },
    async list({ day, ...page }) {
      const list: ListByTime = { where: 'true', parameters: [], by: 'at', order: 'DESC', partition: day };
      const { items, ...rest } = await pageByTime(container, list, page);
      return { items: readableDocuments(items, auditRecord, 'audit', onUnreadable), ...rest };
    },
  };
}
