import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import type { RunRecord, RunStatus } from './runRecord.ts';
import type { RunKey, RunStore } from './runStore.ts';

export type CancelledRun =
  | { kind: 'cancelled'; run: RunRecord }
  | { kind: 'notFound' }
  | { kind: 'ended'; status: RunStatus };

/**
 * Ends a run from outside, by its record: a group learns of it at its next report, before it begins another piece of work,
 * and stops. A piece that is under way is brought to its end. Whoever else ends the run afterwards changes nothing, since
 * only a running one can be ended.
 */
export async function cancelRun(
  { runs, clock, telemetry }: { runs: RunStore; clock: Clock; telemetry: Telemetry },
  key: RunKey,
  reason: string,
): Promise<CancelledRun> {
  const run = await runs.read(key.job, key.runId);
  if (run === undefined) return { kind: 'notFound' };
  if (run.status !== 'running') return { kind: 'ended', status: run.status };
  const at = new Date(clock.now()).toISOString();
  const ended = await runs.end(key, { status: 'cancelled', reason, at });
  const after = (await runs.read(key.job, key.runId)) ?? run;
  if (!ended) return { kind: 'ended', status: after.status };
  // The timer's run counts itself when it stops; a manual one is stopped from outside.
  const { job, trigger } = after;
  if (trigger === 'manual') telemetry.count(metric.runEnded, { job, trigger, status: 'cancelled' });
  return { kind: 'cancelled', run: after };
}
