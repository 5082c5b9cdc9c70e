import type { Container, PatchOperation, SqlParameter } from '@azure/cosmos';
import { createUnlessThere, readDocument, unlessChanged } from '../documents/cosmosDocuments.ts';
import { pageByTime } from '../documents/cosmosPages.ts';
import { readableDocument, readableDocuments } from '../documents/storedDocuments.ts';
import type { OnUnreadable } from '../documents/unreadable.ts';
import { isOpen } from './runProgress.ts';
import { runRecordSchema } from './runRecord.ts';
import type { ListRuns, RunKey, RunStore } from './runStore.ts';

/** Run records in a Cosmos container with the partition key `/job`. */
export function cosmosRunStore(container: Container, onUnreadable?: OnUnreadable): RunStore {
  return {
    create: (record) => createUnlessThere(container, record),
    async read(job, runId) {
      const document = await readDocument(container, job, runId);
      return document === undefined ? undefined : readableDocument(document, runRecordSchema, 'run');
    },
    async list({ job, status, silentSince, ...page }) {
      const partition = job === undefined ? {} : { partition: job };
      const list = {
        ...hasStatus(status, silentSince),
        by: 'startedAt',
        order: 'DESC',
        ...partition,
      } as const;
      const { items, ...rest } = await pageByTime(container, list, page);
      return { items: readableDocuments(items, runRecordSchema, 'run', onUnreadable), ...rest };
    },
    async updateGroup(run, group, record, at) {
      const { lockOwner, fence } = record;
      const entry = { [`groups/${group}`]: record };
      // A report with a smaller fence does not replace that of the next holder.
      const known = `c.groups[${JSON.stringify(group)}].fence`;
      const newest = fence === undefined ? '' : ` and (not is_defined(${known}) or ${known} <= ${fence})`;
      const all = { ...entry, heartbeatAt: at, lockOwner, fence };
      const going = await patched(run, `c.status = 'running'${newest}`, all);
      if (!going && !isOpen(record)) await patched(run, `c.status != 'running'${newest}`, entry);
      return going;
    },
    end: (run, { status, reason, at }) =>
      patched(run, `c.status = 'running'`, { status, completedAt: at, heartbeatAt: at, reason }),
  };

  /** Sets those of these fields that are defined, by their paths. False if the condition does not hold. */
  async function patched(
    { job, runId }: RunKey,
    where: string,
    set: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const operations = Object.entries(set)
      .filter(([, value]) => value !== undefined)
      .map(([path, value]): PatchOperation => ({ op: 'set', path: `/${path}`, value }));
    const condition = `from c where ${where}`;
    const answer = await unlessChanged(() => container.item(runId, job).patch({ condition, operations }));
    return answer !== undefined;
  }
}

/** The condition that a run has a status; one that has been silent for too long counts as abandoned. */
function hasStatus(
  status: ListRuns['status'],
  silentSince: ListRuns['silentSince'],
): { where: string; parameters: SqlParameter[] } {
  if (status === undefined) return { where: 'true', parameters: [] };
  if (status !== 'running' && status !== 'abandoned')
    return { where: 'c.status = @status', parameters: [{ name: '@status', value: status }] };
  const silent =
    silentSince === undefined
      ? 'false'
      : `(c.trigger = 'manual' ? c.heartbeatAt < @manual : c.heartbeatAt < @timer)`;
  const parameters = Object.entries(silentSince ?? {}).map(([name, value]) => ({ name: `@${name}`, value }));
  return { where: `c.status = 'running' AND ${status === 'running' ? 'NOT ' : ''}${silent}`, parameters };
}
