import { systemClock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { metric, noTelemetry } from '../platform/telemetry.ts';
import { asShown } from './abandoned.ts';
import type { RunRecord, RunStatus } from './runRecord.ts';
import type { RunKey, RunStore } from './runStore.ts';

export type CancelledRun =
  | { kind: 'cancelled'; run: RunRecord }
  | { kind: 'notFound' }
  | { kind: 'ended'; status: RunStatus };

/**
 * Ends a run from outside, through its record. A group learns of it at its next report, before it begins another piece of
 * work, and stops; a piece that is under way is finished. Only a running run can be ended, so a later end changes nothing.
 */
export async function cancelRun(
  {
    runs,
    instance: { clock = systemClock, telemetry = noTelemetry } = {},
  }: { runs: RunStore; instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>> },
  key: RunKey,
  reason: string,
): Promise<CancelledRun> {
  const run = await runs.read(key.job, key.runId);
  if (run === undefined) return { kind: 'notFound' };
  if (run.status !== 'running') return { kind: 'ended', status: asShown(run, clock.now()).status };
  const at = new Date(clock.now()).toISOString();
  const ended = await runs.end(key, { status: 'cancelled', reason, at });
  const after = (await runs.read(key.job, key.runId)) ?? run;
  if (!ended) return { kind: 'ended', status: after.status };
  // A run of the timer counts itself when it stops; a manual one is stopped from outside.
  const { job, trigger } = after;
  if (trigger === 'manual') telemetry.count(metric.runEnded, { job, trigger, status: 'cancelled' });
  return { kind: 'cancelled', run: after };
}
