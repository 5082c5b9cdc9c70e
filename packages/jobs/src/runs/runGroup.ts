import { type Lease, LeaseLost } from '@payonce/leases';
import { errorText } from '@payonce/leases/error-text';
import { partMetric } from '@payonce/leases/telemetry';
import { z } from 'zod';
import { FencedOut } from '../claims/fence.ts';
import type { Instance } from '../instance.ts';
import { TimeIsUp } from '../timeBudget.ts';
import { inSpan } from '../tracing.ts';
import { Idle, type Job, type Processed, type RunCounts } from './job.ts';
import { addCounts } from './runProgress.ts';
import type { GroupRecord } from './runRecord.ts';

/** Minimum milliseconds between two reports of a group. Records are for people; the work does not need them. */
const reportEveryMs = 2_000;

/** Records how a group stands. False: the run has ended, so the group stops. A rejection is only counted. */
export type ReportGroup = (record: GroupRecord) => Promise<boolean>;

/**
 * Works through one group of a job under a lease that the caller holds: plans and processes piece by piece until nothing is
 * left, a piece asks to stop, the lease is lost, `signal` aborts or the run is ended. Never throws: the record says how it
 * ended, with `partial` if `signal` aborted because the time was up. The counts go on from those of `before`.
 */
export async function runGroup(
  {
    job,
    group,
    runId,
    dryRun,
    lease,
    signal,
    request,
    before = {},
    traceparent,
  }: {
    job: Job;
    group: string;
    runId: string;
    dryRun: boolean;
    lease: Lease;
    signal?: AbortSignal;
    request?: unknown;
    /** Progress of the group in a process that was stopped or died. */
    before?: Partial<Pick<GroupRecord, 'counts' | 'inHand'>>;
    /** The trace of the run, if that began elsewhere. */
    traceparent?: string | undefined;
  },
  { instance, report }: { instance: Pick<Instance, 'name' | 'clock' | 'telemetry'>; report: ReportGroup },
): Promise<GroupRecord> {
  const { clock, telemetry } = instance;
  const { fence } = lease;
  const owner = { lockOwner: instance.name, fence };
  let counts: RunCounts = before.counts ?? {};
  let failure: string | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let unfinished: Pick<GroupRecord, 'inHand'> = {};
  const attributes = { 'run.id': runId, 'job.name': job.name, 'run.group': group, 'lease.fence': fence };
  const worked = await inSpan('run group', { attributes, parent: traceparent }, work, ({ status }) => ({
    attributes: { 'group.status': status },
    failed: status === 'failed' || status === 'lost' ? status : undefined,
  }));
  const record: GroupRecord = { ...worked, ...unfinished };
  await reported(record);
  return record;

  async function reported(standing: GroupRecord): Promise<boolean> {
    try {
      return await report(standing);
    } catch (error) {
      telemetry.count(partMetric.runReportFailed, { job: job.name });
      // Without a record of the piece in hand, counts could not be exact.
      if (standing.inHand !== undefined && standing.status === 'running') throw error;
      return true;
    }
  }

  async function work(): Promise<GroupRecord> {
    try {
      for await (const piece of pieces()) {
        if (signal?.aborted === true) return { ...stoppedBy(signal.reason, failure), ...owner, counts };
        lease.assertHeld();
        if (job.keepsPiece === true || clock.monotonic() - reportedAt >= reportEveryMs) {
          // Only JSON comes back from a record; what is to be waited for is no work.
          const keep = job.keepsPiece === true && !dryRun && !(piece instanceof Idle);
          unfinished = keep ? { inHand: z.json().parse(piece) } : {};
          const goOn = await reported({ status: 'running', ...owner, counts, ...unfinished });
          if (!goOn) return { status: 'failed', ...owner, counts, reason: 'the run was ended' };
          reportedAt = clock.monotonic();
        }
        if (piece instanceof Idle) {
          // Cut short if the group is to stop: the next look at the signal says why.
          await clock.sleep(piece.ms, signal).catch(() => {});
          continue;
        }
        const done: Processed = dryRun
          ? { counts: job.preview?.(piece) ?? {} }
          : await job.process(piece, {
              runId,
              group,
              instance: instance.name,
              lease,
              request,
              again: piece === before.inHand,
            });
        counts = addCounts(counts, done.counts);
        unfinished = {};
        failure ??= done.failed;
        if (done.lost !== undefined) return { status: 'lost', ...owner, counts, reason: done.lost };
        if (done.held !== undefined) {
          lease.assertHeld();
          if (failure !== undefined) return { status: 'failed', ...owner, counts, reason: failure };
          return { status: 'partial', ...owner, counts, reason: done.held };
        }
        if (done.stop !== undefined) {
          // A process that stood still loses its connections and its lease: then the lease is the reason.
          lease.assertHeld();
          return { status: 'failed', ...owner, counts, reason: done.stop };
        }
      }
      if (failure !== undefined) return { status: 'failed', ...owner, counts, reason: failure };
      return { status: 'completed', ...owner, counts };
    } catch (error) {
      if (error instanceof LeaseLost || error instanceof FencedOut) {
        return { status: 'lost', ...owner, counts, reason: error.message };
      }
      return { status: 'failed', ...owner, counts, reason: errorText(error) };
    }
  }

  async function* pieces() {
    if (before.inHand !== undefined && !dryRun) yield before.inHand;
    yield* job.plan(group, { dryRun, run: { runId, request, counts } });
  }
}

function stoppedBy(reason: unknown, failure: string | undefined): Pick<GroupRecord, 'status' | 'reason'> {
  if (failure !== undefined) return { status: 'failed', reason: failure };
  return reason instanceof TimeIsUp
    ? { status: 'partial', reason: 'time is up: the next run goes on' }
    : { status: 'failed', reason: 'the host is stopping' };
}
