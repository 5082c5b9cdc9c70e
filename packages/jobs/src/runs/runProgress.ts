import { formatVersion } from '../documents/storedDocuments.ts';
import { activeTrace } from '../tracing.ts';
import type { RunCounts } from './job.ts';
import type { GroupRecord, RunRecord } from './runRecord.ts';

/** The record of a run that begins at `at` (ISO 8601). */
export function newRun(
  run: Pick<RunRecord, 'id' | 'job' | 'trigger' | 'dryRun' | 'groups' | 'request'>,
  at: string,
): RunRecord {
  const begun = { version: formatVersion, status: 'running', startedAt: at, heartbeatAt: at } as const;
  return { ...run, ...activeTrace(), ...begun };
}

/** True until a group has reported its end. */
export function isOpen({ status }: GroupRecord): boolean {
  return status === 'pending' || status === 'running';
}

export function addCounts(a: RunCounts, b: RunCounts): RunCounts {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** The status of a run, given its groups. */
export function statusOfGroups(groups: readonly GroupRecord[]): {
  status: 'completed' | 'failed';
  reason?: string;
} {
  const reasonOf = ({ status, reason = 'no reason given' }: GroupRecord) => `${status}: ${reason}`;
  const bad = groups.find(({ status }) => status === 'lost' || status === 'failed');
  if (bad !== undefined) return { status: 'failed', reason: reasonOf(bad) };
  const partial = groups.find(({ status }) => status === 'partial');
  return { status: 'completed', ...(partial === undefined ? {} : { reason: reasonOf(partial) }) };
}
