import type { Container, PatchOperation } from '@azure/cosmos';
import { createUnlessThere, readDocument, unlessChanged } from '../documents/cosmosDocuments.ts';
import { queryPage } from '../documents/cosmosPages.ts';
import { type OnUnreadable, readableDocument, readableDocuments } from '../documents/storedDocuments.ts';
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
    async list({ job, status, ...page }) {
      const where = status === undefined ? '' : 'WHERE c.status = @status ';
      const { items, ...rest } = await queryPage(
        container,
        {
          query: `SELECT * FROM c ${where}ORDER BY c.startedAt DESC`,
          parameters: status === undefined ? [] : [{ name: '@status', value: status }],
        },
        { ...page, partitionKey: job },
      );
      return { items: readableDocuments(items, runRecordSchema, 'run', onUnreadable), ...rest };
    },
    updateGroup: (run, group, record, at) =>
      patchRunning(run, [
        { op: 'set', path: `/groups/${group}`, value: record },
        { op: 'set', path: '/heartbeatAt', value: at },
        ...(record.lockOwner === undefined
          ? []
          : [{ op: 'set' as const, path: '/lockOwner', value: record.lockOwner }]),
        ...(record.fence === undefined ? [] : [{ op: 'set' as const, path: '/fence', value: record.fence }]),
      ]),
    end: (run, { status, reason, at }) =>
      patchRunning(run, [
        { op: 'set', path: '/status', value: status },
        { op: 'set', path: '/completedAt', value: at },
        { op: 'set', path: '/heartbeatAt', value: at },
        ...(reason === undefined ? [] : [{ op: 'set' as const, path: '/reason', value: reason }]),
      ]),
  };

  async function patchRunning({ job, runId }: RunKey, operations: PatchOperation[]): Promise<boolean> {
    const condition = `from c where c.status = 'running'`;
    const patched = await unlessChanged(() => container.item(runId, job).patch({ condition, operations }));
    return patched !== undefined;
  }
}
