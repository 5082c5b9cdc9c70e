import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { type FieldError, problem, problemResponse } from '../platform/problem.ts';
import type { Job } from '../runs/job.ts';
import { type ManualRun, newManualRun, runIdFor } from '../runs/manualRun.ts';
import { runJobOrchestrator } from '../runs/orchestrateRun.ts';
import { type RunRecord, runView } from '../runs/runRecord.ts';
import type { RunStore } from '../runs/runStore.ts';
import { type Audit, actorOf } from './audit.ts';

/** What starting a run needs of the Durable Functions client. */
export interface Orchestrations {
  startNew(orchestratorName: string, options: { instanceId: string; input: unknown }): Promise<string>;
  /** Rejects where there is no such instance. */
  getStatus(instanceId: string): Promise<unknown>;
}

interface Dependencies {
  job: Job;
  runs: RunStore;
  clock: Clock;
  audit: Audit;
}

const requestSchema = z.strictObject({
  job: z.string(),
  dryRun: z.boolean().optional(),
  /** Id of an ended run whose unfinished groups are to be done now. */
  resume: z.string().optional(),
  groups: z.array(z.string()).min(1).optional(),
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
  const asked = requestSchema.safeParse(await json(request));
  if (!asked.success) {
    return badRequest(
      asked.error.issues.map(({ path, message }) => ({ field: path.join('.') || 'body', error: message })),
    );
  }
  const { dryRun = false, resume } = asked.data;
  if (asked.data.job !== job.name) {
    return badRequest([{ field: 'job', error: `expected "${job.name}", got "${asked.data.job}"` }]);
  }
  const groups = await groupsToRun(asked.data);
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

/** `GET ops/runs/{id}`: how a run stands. */
export async function getRun(request: HttpRequest, { job, runs }: Dependencies): Promise<HttpResponseInit> {
  const { id = '' } = request.params;
  const record = await runs.read(job.name, id);
  if (record === undefined) {
    return problemResponse(problem(404, `there is no run "${id}"`));
  }
  return { jsonBody: runView(record) };
}

function sameRequest(record: RunRecord, run: ManualRun): boolean {
  const groups = Object.keys(record.groups).toSorted().join();
  return record.dryRun === run.dryRun && groups === run.groups.toSorted().join();
}

function badRequest(errors: FieldError[]): HttpResponseInit {
  return problemResponse(problem(400, 'The request has wrong values.', errors));
}

async function json(request: HttpRequest): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    return undefined;
  }
}
