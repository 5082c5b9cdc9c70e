import type { Container, PatchOperation, SqlParameter } from '@azure/cosmos';
import { createUnlessThere, readDocument, unlessChanged } from '../documents/cosmosDocuments.ts';
import { pageByTime } from '../documents/cosmosPages.ts';
import { type OnUnreadable, readableDocument, readableDocuments } from '../documents/storedDocuments.ts';
import { type GroupRecord, isOpen, runRecordSchema } from './runRecord.ts';
import type { ListRuns, RunKey, RunStore } from './runStore.ts';

/** Run records in the Cosmos container `runs`, whose partition key is the job. */
export function cosmosRunStore(container: Container, onUnreadable?: OnUnreadable): RunStore {
  return {
    create: (record) => createUnlessThere(container, record),
    async read(job, runId) {
      const document = await readDocument(container, job, runId);
      return document === undefined ? undefined : readableDocument(document, runRecordSchema, 'run');
    },
    async list({ job, status, silentSince, ...page }) {
      const list = {
        ...hasStatus(status, silentSince),
        by: 'startedAt',
        order: 'DESC',
        ...(job === undefined ? {} : { partition: job }),
      } as const;
      const { items, ...rest } = await pageByTime(container, list, page);
      return { items: readableDocuments(items, runRecordSchema, 'run', onUnreadable), ...rest };
    },
    async updateGroup(run, group, record, at) {
      const entry: PatchOperation = { op: 'set', path: `/groups/${group}`, value: record };
      const newest = fenceCondition(group, record);
      const going = await patched(run, `c.status = 'running'${newest}`, [
        entry,
        { op: 'set', path: '/heartbeatAt', value: at },
        ...(record.lockOwner === undefined
          ? []
          : [{ op: 'set' as const, path: '/lockOwner', value: record.lockOwner }]),
        ...(record.fence === undefined ? [] : [{ op: 'set' as const, path: '/fence', value: record.fence }]),
      ]);
      if (!going && !isOpen(record)) await patched(run, `c.status != 'running'${newest}`, [entry]);
      return going;
    },
    end: (run, { status, reason, at }) =>
      patched(run, `c.status = 'running'`, [
        { op: 'set', path: '/status', value: status },
        { op: 'set', path: '/completedAt', value: at },
        { op: 'set', path: '/heartbeatAt', value: at },
        ...(reason === undefined ? [] : [{ op: 'set' as const, path: '/reason', value: reason }]),
      ]),
  };

  async function patched(
    { job, runId }: RunKey,
    where: string,
    operations: PatchOperation[],
  ): Promise<boolean> {
    const condition = `from c where ${where}`;
    const answer = await unlessChanged(() => container.item(runId, job).patch({ condition, operations }));
    return answer !== undefined;
  }
}

/** A report with a smaller fence does not replace that of the next holder. */
function fenceCondition(group: string, { fence }: GroupRecord): string {
  if (fence === undefined) return '';
  const known = `c.groups[${JSON.stringify(group)}].fence`;
  return ` and (not is_defined(${known}) or ${known} <= ${fence})`;
}

/** The condition that a run has a status; one that has been silent for too long counts as abandoned. */
function hasStatus(
  status: ListRuns['status'],
  silentSince: ListRuns['silentSince'],
): { where: string; parameters: SqlParameter[] } {
  if (status === undefined) return { where: 'true', parameters: [] };
  const silent = `(c.trigger = 'manual' ? c.heartbeatAt < @manual : c.heartbeatAt < @timer)`;
  const times = Object.entries(silentSince ?? {}).map(([name, value]) => ({ name: `@${name}`, value }));
  switch (status) {
    case 'running': {
      const alive = silentSince === undefined ? '' : ` AND NOT ${silent}`;
      return { where: `c.status = 'running'${alive}`, parameters: times };
    }
    case 'abandoned':
      return {
        where: `c.status = 'running' AND ${silentSince === undefined ? 'false' : silent}`,
        parameters: times,
      };
    case 'failed':
    case 'completed':
    case 'cancelled':
      return { where: 'c.status = @status', parameters: [{ name: '@status', value: status }] };
  }
}
