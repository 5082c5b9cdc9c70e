import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { formatVersion, type OnUnreadable, readableDocuments } from '@payonce/jobs/documents';
import { createUnlessThere, type ListByTime, pageByTime, whereAll } from '@payonce/jobs/documents/cosmos';
import type { Clock } from '@payonce/leases/clock';
import { auditRecord } from './answers/reportAnswers.ts';
import type { AuditTrail } from './auditTrail.ts';

/** The audit trail in the Cosmos container `audit`, partitioned by day. */
export function cosmosAudit(container: Container, clock: Clock, onUnreadable?: OnUnreadable): AuditTrail {
  return {
    async append(entry, made) {
      const { id, at } = made ?? { id: randomUUID(), at: new Date(clock.now()).toISOString() };
      const record = { id, day: at.slice(0, 10), at, version: formatVersion, ...entry };
      await createUnlessThere(container, record);
    },
    async list({ from, to, target, actor, action, ...page }) {
      const list: ListByTime = {
        ...whereAll(undefined, [
          { condition: 'c.day >= @from', name: '@from', value: from },
          { condition: 'c.day <= @to', name: '@to', value: to },
          { condition: 'c.target = @target', name: '@target', value: target },
          { condition: 'CONTAINS(c.actor, @actor, true)', name: '@actor', value: actor },
          { condition: 'CONTAINS(c.action, @action, true)', name: '@action', value: action },
        ]),
        by: 'at',
        order: 'DESC',
        ...(from !== undefined && from === to ? { partition: from } : {}),
      };
      const { items, ...rest } = await pageByTime(container, list, page);
      return { items: readableDocuments(items, auditRecord, 'audit', onUnreadable), ...rest };
    },
  };
}
