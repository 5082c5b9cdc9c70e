import type { Container, PatchOperation } from '@azure/cosmos';
import { createUnlessThere, readDocument, unlessChanged } from '../documents/cosmosDocuments.ts';
import { readableDocument } from '../documents/storedDocuments.ts';
import type { OnUnreadable } from '../documents/unreadable.ts';
import { listRuns } from './cosmosRunList.ts';
import { isOpen } from './runProgress.ts';
import { runRecordSchema } from './runRecord.ts';
import type { RunKey, RunStore } from './runStore.ts';

/** Run records in the Cosmos container `runs`, whose partition key is the job. */
export function cosmosRunStore(container: Container, onUnreadable?: OnUnreadable): RunStore {
  return {
    create: (record) => createUnlessThere(container, record),
    async read(job, runId) {
      const document = await readDocument(container, job, runId);
      return document === undefined ? undefined : readableDocument(document, runRecordSchema, 'run');
    },
    list: (query) => listRuns(container, query, onUnreadable),
    async updateGroup(run, group, record, at) {
      const entry: PatchOperation = { op: 'set', path: `/groups/${group}`, value: record };
      // A report with a smaller fence does not replace that of the next holder.
      const known = `c.groups[${JSON.stringify(group)}].fence`;
      const newest =
        record.fence === undefined ? '' : ` and (not is_defined(${known}) or ${known} <= ${record.fence})`;
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
