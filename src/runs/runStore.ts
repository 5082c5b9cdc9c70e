import type { Container, PatchOperation } from '@azure/cosmos';
import { cosmosStatus, statusOf } from '../documents/cosmosErrors.ts';
import { type Page, queryPage } from '../documents/pages.ts';
import { readItem } from '../documents/readItem.ts';
import { type GroupRecord, type RunRecord, type RunStatus, runRecordSchema } from './runRecord.ts';

/** Where run records are kept. */
export interface RunStore {
  /** Creates a record; false where one with this id is there already. */
  create(record: RunRecord): Promise<boolean>;
  read(job: string, runId: string): Promise<RunRecord | undefined>;
  /** One page of the runs of a job, newest first. @throws {BadContinuation} */
  list(query: ListRuns): Promise<Page<RunRecord>>;
  /** Writes down how a group stands; also the run's sign of life. False when the run has ended meanwhile. */
  updateGroup(run: RunKey, group: string, record: GroupRecord, at: string): Promise<boolean>;
  /** Ends a run. False when it has ended already. */
  end(run: RunKey, end: { status: RunStatus; reason?: string; at: string }): Promise<boolean>;
}

export interface RunKey {
  job: string;
  runId: string;
}

export interface ListRuns {
  job: string;
  /** Absent: all of them. */
  status?: RunStatus;
  continuation?: string;
  pageSize: number;
}

/** Run records in the Cosmos container `runs`, whose partition key is the job. */
export function cosmosRunStore(container: Container): RunStore {
  return {
    async create(record) {
      try {
        await container.items.create(record);
        return true;
      } catch (error) {
        if (statusOf(error) === cosmosStatus.conflict) return false;
        throw error;
      }
    },
    async read(job, runId) {
      const document = await readItem(container, job, runId);
      return document === undefined ? undefined : runRecordSchema.parse(document);
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
      return { items: items.map((item) => runRecordSchema.parse(item)), ...rest };
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
    try {
      await container.item(runId, job).patch({ condition: `from c where c.status = 'running'`, operations });
      return true;
    } catch (error) {
      if (statusOf(error) === cosmosStatus.preconditionFailed) return false;
      throw error;
    }
  }
}
