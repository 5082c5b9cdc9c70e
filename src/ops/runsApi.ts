import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import type { Telemetry } from '../platform/telemetry.ts';
import { cancelRun } from '../runs/cancelRun.ts';
import type { Job } from '../runs/job.ts';
import { type ManualRun, newManualRun, runIdFor } from '../runs/manualRun.ts';
import { runJobOrchestrator } from '../runs/orchestrateRun.ts';
import { type RunRecord, runStatuses, runView } from '../runs/runRecord.ts';
import type { RunStore } from '../runs/runStore.ts';
import { type Audit, actorOf } from './audit.ts';
import {
  badRequest,
  conflict,
  notFound,
  oneOf,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
} from './requests.ts';

/** What runs need of the Durable Functions client. */
export interface Orchestrations {
  startNew(orchestratorName: string, options: { instanceId: string; input: unknown }): Promise<string>;
  /** Rejects where there is no such instance. */
  getStatus(instanceId: string): Promise<unknown>;
  /** Schedules nothing more; what an activity is at goes on. Rejects where there is no such instance. */
  terminate(instanceId: string, reason: string): Promise<unknown>;
}

interface Dependencies {
  job: Job;
  runs: RunStore;
  clock: Clock;
  telemetry: Telemetry;
  audit: Audit;
}

const pageSize = 100;

const requestSchema = z.strictObject({
  job: z.string(),
  dryRun: z.boolean().optional(),
  /** Id of an ended run whose unfinished groups are to be done now. */
  resume: z.string().optional(),
  groups: z
    .array(z.string())
    .min(1)
    .transform((groups) => [...new Set(groups)])
    .optional(),
});

/**
 * `POST ops/runs`: starts a run of a job. The same `Idempotency-Key` stands for the same run, however often it is sent;
 * with another request under it the answer is 422.
 */
export async function startRun(
  request: HttpRequest,
  orchestrations: Orchestrations,
  { job, runs, clock, audit }: Dependencies,
): Promise<HttpResponseInit> {
  const asked = await readBody(request, requestSchema);
  if (!asked.ok) return asked.response;
  const { dryRun = false, resume } = asked.value;
  if (asked.value.job !== job.name) {
    return badRequest([{ field: 'job', error: `expected "${job.name}", got "${asked.value.job}"` }]);
  }
  const groups = await groupsToRun(asked.value);
  if ('error' in groups) return badRequest([groups]);

  const runId = runIdFor(request.headers.get('idempotency-key') ?? undefined);
  const run: ManualRun = { job: job.name, runId, groups: groups.names, dryRun };
  const at = new Date(clock.now()).toISOString();
  const record = newManualRun(run, at);
  const created = await runs.create(record);
  const stored = created ? record : await runs.read(job.name, runId);
  if (stored !== undefined && !sameRequest(stored, run)) {
    return problemResponse(
      problem(422, 'This Idempotency-Key stands for a run with another request.', [
        { field: 'Idempotency-Key', error: 'expected a new key, or the same request as before' },
      ]),
    );
  }
  // Also when the record was there: whoever created it may have died before this.
  if (stored?.status === 'running') await ensureStarted(orchestrations, run);
  if (created) {
    const detail = { dryRun, groups: groups.names.join(','), ...(resume === undefined ? {} : { resume }) };
    await audit({
      actor: actorOf(request.headers),
      action: 'start run',
      target: `${job.name}/${runId}`,
      detail,
    });
  }
  return {
    status: 202,
    headers: { location: `/api/ops/runs/${runId}` },
    jsonBody: { runId, status: stored?.status ?? 'running' },
  };

  async function groupsToRun(body: z.infer<typeof requestSchema>): Promise<{ names: string[] } | FieldError> {
    const unknown = body.groups?.find((group) => !job.groups.includes(group));
    if (unknown !== undefined) {
      return { field: 'groups', error: `expected some of ${job.groups.join(', ')}, got "${unknown}"` };
    }
    if (body.resume === undefined) return { names: body.groups ?? [...job.groups] };
    const before = await runs.read(job.name, body.resume);
    if (before === undefined)
      return { field: 'resume', error: `there is no run "${body.resume}" of ${job.name}` };
    if (before.status === 'running') return { field: 'resume', error: `run "${body.resume}" has not ended` };
    const open = Object.entries(before.groups).filter(([, { status }]) => status !== 'completed');
    const names = open.map(([group]) => group).filter((group) => body.groups?.includes(group) ?? true);
    if (names.length === 0) return { field: 'resume', error: `run "${body.resume}" has no unfinished group` };
    return { names };
  }
}

/** Starts the orchestration of a run unless it is there; of two callers at the same time one starts it. */
async function ensureStarted(orchestrations: Orchestrations, run: ManualRun): Promise<void> {
  const isThere = () =>
    orchestrations.getStatus(run.runId).then(
      () => true,
      () => false,
    );
  if (await isThere()) return;
  try {
    await orchestrations.startNew(runJobOrchestrator, { instanceId: run.runId, input: run });
  } catch (error) {
    if (!(await isThere())) throw error;
  }
}

/** `GET ops/runs?job=&status=&continuation=`: a page of runs, newest first. */
export async function listRuns(request: HttpRequest, { job, runs }: Dependencies): Promise<HttpResponseInit> {
  const querySchema = z.object({
    job: oneOf([job.name]).default(job.name),
    status: oneOf(runStatuses).exactOptional(),
    continuation: z.string().exactOptional(),
  });
  const query = readQuery(request, querySchema);
  if (!query.ok) return query.response;
  return pageResponse('runs', runs.list({ pageSize, ...query.value }), runView);
}

/** `GET ops/runs/{id}`: how a run stands. */
export async function getRun(request: HttpRequest, { job, runs }: Dependencies): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const record = await runs.read(job.name, id);
  return record === undefined ? notFound(`run "${id}"`) : { jsonBody: runView(record) };
}

/** `POST ops/runs/{id}/cancel` `{reason?}`: ends a running run, by the timer or by hand; its groups stop soon. */
export async function cancelRunFor(
  request: HttpRequest,
  orchestrations: Orchestrations,
  dependencies: Dependencies,
): Promise<HttpResponseInit> {
  const { id: runId = '' } = request.params;
  const asked = await readBody(request, reasonBodySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const { reason } = asked.value;
  const actor = actorOf(request.headers);
  const job = dependencies.job.name;
  const text = `cancelled by ${actor}${reason === undefined ? '' : `: ${reason}`}`;
  const cancelled = await cancelRun(dependencies, { job, runId }, text);
  switch (cancelled.kind) {
    case 'notFound':
      return notFound(`run "${runId}"`);
    case 'ended':
      return conflict(`run "${runId}" is ${cancelled.status}: expected one that is running`);
    case 'cancelled': {
      const { run } = cancelled;
      // It may not be there (its creator died) or not be told now: the record ends its groups all the same.
      if (run.trigger === 'manual') await orchestrations.terminate(runId, text).catch(() => {});
      await dependencies.audit({
        actor,
        action: 'cancel run',
        target: `${job}/${runId}`,
        detail: { reason: reason ?? null },
      });
      return { jsonBody: runView(run) };
    }
  }
}

function sameRequest(record: RunRecord, run: ManualRun): boolean {
  const groups = Object.keys(record.groups).toSorted().join();
  return record.dryRun === run.dryRun && groups === run.groups.toSorted().join();
}
