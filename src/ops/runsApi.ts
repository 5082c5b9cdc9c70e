import { z } from 'zod';
import type { Instance } from '../platform/instance.ts';
import { asShown, storedAs } from '../runs/abandoned.ts';
import { cancelRun } from '../runs/cancelRun.ts';
import type { Job } from '../runs/job.ts';
import { runStatuses, runView } from '../runs/runRecord.ts';
import type { RunStore } from '../runs/runStore.ts';
import { type Orchestrations, startRun } from '../runs/startRun.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import {
  badRequest,
  conflict,
  listQuerySchema,
  notFound,
  oneOf,
  pageResponse,
  readBody,
  readQuery,
  reasonBodySchema,
} from './requests.ts';
import { startedResponse } from './startedRun.ts';

interface Parts {
  job: Job;
  bulk: Job;
  runs: RunStore;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

const pageSize = 100;

export const startRunSchema = z.strictObject({
  job: z.string(),
  dryRun: z.boolean().default(false),
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
export async function startRunFor(
  request: OpsRequest,
  orchestrations: Orchestrations,
  parts: Parts,
): Promise<OpsResponse> {
  const { job, audit, actor } = parts;
  const asked = await readBody(request, startRunSchema);
  if (!asked.ok) return asked.response;
  const { job: name, ...run } = asked.value;
  if (name !== job.name) {
    return badRequest([{ field: 'job', error: `expected "${job.name}", got "${name}"` }]);
  }
  const idempotencyKey = request.headers.get('idempotency-key') ?? undefined;
  const started = await startRun({ ...parts, orchestrations }, { ...run, idempotencyKey });
  return startedResponse(started, async ({ runId, groups }) => {
    const { dryRun, resume } = run;
    await audit.append({
      actor,
      action: 'start run',
      target: `${job.name}/${runId}`,
      detail: { dryRun, groups: groups.join(','), ...(resume === undefined ? {} : { resume }) },
    });
  });
}

/** The jobs by name; without one, the first. */
export const runsQuery = (jobs: [string, ...string[]]) =>
  listQuerySchema(runStatuses).extend({ job: oneOf(jobs).default(jobs[0]) });

/** `GET ops/runs?job=&status=&continuation=`: a page of runs, newest first. */
export async function listRuns(
  request: OpsRequest,
  { job, bulk, runs, instance }: Pick<Parts, 'job' | 'bulk' | 'runs' | 'instance'>,
): Promise<OpsResponse> {
  const query = readQuery(request, runsQuery([job.name, bulk.name]));
  if (!query.ok) return query.response;
  const now = instance.clock.now();
  const { status, ...page } = query.value;
  const found = runs.list({ pageSize, ...page, ...(status === undefined ? {} : storedAs(status, now)) });
  return pageResponse('runs', found, (run) => runView(asShown(run, now)));
}

/** `GET ops/runs/{id}`: how a run stands. */
export async function getRun(
  request: OpsRequest,
  parts: Pick<Parts, 'job' | 'bulk' | 'runs' | 'instance'>,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const record = await findRun(parts, id);
  return record === undefined
    ? notFound(`run "${id}"`)
    : { jsonBody: runView(asShown(record, parts.instance.clock.now())) };
}

/** A run of any job. */
async function findRun({ job, bulk, runs }: Pick<Parts, 'job' | 'bulk' | 'runs'>, id: string) {
  return (await runs.read(job.name, id)) ?? (await runs.read(bulk.name, id));
}

/** `POST ops/runs/{id}/cancel` `{reason?}`: ends a running run, of the timer or manual; its groups stop soon. */
export async function cancelRunFor(
  request: OpsRequest,
  orchestrations: Orchestrations,
  parts: Parts,
): Promise<OpsResponse> {
  const { id: runId = '' } = request.params;
  const asked = await readBody(request, reasonBodySchema, { empty: {} });
  if (!asked.ok) return asked.response;
  const { reason } = asked.value;
  const { actor } = parts;
  const job = (await findRun(parts, runId))?.job ?? parts.job.name;
  const text = `cancelled by ${actor}${reason === undefined ? '' : `: ${reason}`}`;
  const cancelled = await cancelRun(parts, { job, runId }, text);
  switch (cancelled.kind) {
    case 'notFound':
      return notFound(`run "${runId}"`);
    case 'ended':
      return conflict(`run "${runId}" is ${cancelled.status}: expected one that is running`);
    case 'cancelled': {
      const { run } = cancelled;
      // The orchestration may be missing (its creator died) or out of reach: the record ends its groups all the same.
      if (run.trigger === 'manual') await orchestrations.terminate(runId, text).catch(() => {});
      const target = `${job}/${runId}`;
      await parts.audit.append({ actor, action: 'cancel run', target, detail: { reason: reason ?? null } });
      return { jsonBody: runView(run) };
    }
  }
}
