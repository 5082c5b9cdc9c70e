import type { Container, PatchOperation, SqlParameter } from '@azure/cosmos';
import { createUnlessThere, unlessChanged } from '../documents/cosmosDocuments.ts';
import { queryPage } from '../documents/cosmosPages.ts';
import { readDocument } from '../documents/cosmosQueries.ts';
import { type OnUnreadable, readableDocument, readableDocuments } from '../documents/storedDocuments.ts';
import { runRecordSchema } from './runRecord.ts';
import type { EndOfRun, ListRuns, RunKey, RunStore } from './runStore.ts';

/** Run records in the Cosmos container `runs`, whose partition key is the job. */
export function cosmosRunStore(container: Container, onUnreadable?: OnUnreadable): RunStore {
  return {
    create: (record) => createUnlessThere(container, record),
    async read(job, runId) {
      const document = await readDocument(container, job, runId);
      return document === undefined ? undefined : readableDocument(document, runRecordSchema, 'run');
    },
    async list({ job, status, silentSince, ...page }) {
      const { where, parameters } = hasStatus(status, silentSince);
      const { items, ...rest } = await queryPage(
        container,
        {
          query: `SELECT * FROM c ${where}ORDER BY c.startedAt DESC`,
          parameters,
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
    end: (run, { status, reason, at, heartbeatAt }) =>
      patchRunning(
        run,
        [
          ...ended(status),
          { op: 'set', path: '/completedAt', value: at },
          { op: 'set', path: '/heartbeatAt', value: heartbeatAt ?? at },
          ...(reason === undefined ? [] : [{ op: 'set' as const, path: '/reason', value: reason }]),
        ],
        heartbeatAt,
      ),
  };

  async function patchRunning(
    { job, runId }: RunKey,
    operations: PatchOperation[],
    heartbeatAt?: string,
  ): Promise<boolean> {
    const unchanged = heartbeatAt === undefined ? '' : ` and c.heartbeatAt = ${JSON.stringify(heartbeatAt)}`;
    const condition = `from c where c.status = 'running'${unchanged}`;
    const patched = await unlessChanged(() => container.item(runId, job).patch({ condition, operations }));
    return patched !== undefined;
  }
}

function ended(status: EndOfRun['status']): PatchOperation[] {
  if (status !== 'abandoned') return [{ op: 'set', path: '/status', value: status }];
  return [
    { op: 'set', path: '/status', value: 'failed' },
    { op: 'set', path: '/abandoned', value: true },
  ];
}

/** The condition that a run has a status, given how abandoned runs are stored. */
function hasStatus(
  status: ListRuns['status'],
  silentSince: ListRuns['silentSince'],
): { where: string; parameters: SqlParameter[] } {
  if (status === undefined) return { where: '', parameters: [] };
  const silent = `(c.trigger = 'manual' ? c.heartbeatAt < @manual : c.heartbeatAt < @timer)`;
  const times = Object.entries(silentSince ?? {}).map(([name, value]) => ({ name: `@${name}`, value }));
  const marked = 'IS_DEFINED(c.abandoned)';
  switch (status) {
    case 'running': {
      const alive = silentSince === undefined ? '' : ` AND NOT ${silent}`;
      return { where: `WHERE c.status = 'running'${alive} `, parameters: times };
    }
    case 'abandoned': {
      const stillRunning = silentSince === undefined ? '' : ` OR (c.status = 'running' AND ${silent})`;
      return { where: `WHERE ((c.status = 'failed' AND ${marked})${stillRunning}) `, parameters: times };
    }
    case 'failed':
    case 'completed':
    case 'cancelled':
      return {
        where: `WHERE c.status = @status AND NOT ${marked} `,
        parameters: [{ name: '@status', value: status }],
      };
  }
}
