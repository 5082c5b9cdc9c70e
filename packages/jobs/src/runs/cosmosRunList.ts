import type { Container, SqlParameter } from '@azure/cosmos';
import { pageByTime } from '../documents/cosmosPages.ts';
import type { Page } from '../documents/pages.ts';
import { readableDocuments } from '../documents/storedDocuments.ts';
import type { OnUnreadable } from '../documents/unreadable.ts';
import { type RunRecord, runRecordSchema } from './runRecord.ts';
import type { ListRuns } from './runStore.ts';

/** One page of runs; see `RunStore.list`. */
export async function listRuns(
  container: Container,
  { job, status, silentSince, ...page }: ListRuns,
  onUnreadable?: OnUnreadable,
): Promise<Page<RunRecord>> {
  const list = {
    ...hasStatus(status, silentSince),
    by: 'startedAt',
    order: 'DESC',
    ...(job === undefined ? {} : { partition: job }),
  } as const;
  const { items, ...rest } = await pageByTime(container, list, page);
  return { items: readableDocuments(items, runRecordSchema, 'run', onUnreadable), ...rest };
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
