import { asShown, cancelRun, runStatuses, runView, storedAs } from '@payonce/jobs/runs';
import { type StartedRun, startRun } from '@payonce/jobs/runs/durable';
import { z } from 'zod';
import { jobNames } from '../platform/azureNames.ts';
import { refusedAnswer, runAnswer, runsAnswer, startedAnswer } from './answers/runAnswers.ts';
import type { Made } from './auditTrail.ts';
import { bulkGroups } from './bulk/bulkJob.ts';
import { bulkBody, refusedBy, refusedIn } from './bulk/bulkRequest.ts';
import { call } from './call.ts';
import { named } from './caller.ts';
import { continuationQuery, listQuery, oneOf, optionalReasonBody } from './fields.ts';
import { pageAnswer } from './listPages.ts';
import type { OpsParts } from './opsParts.ts';
import { badRequest, conflict, keyTaken, notFound } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

const pageSize = 100;
/** Each waits for its turn in an activity, of which a host has some ten at a time: payment runs need some, too. */
const mostOpenBulk = 5;

const startRunBody = z.strictObject({
  job: z.string(),
  dryRun: z.boolean().default(false),
  /** Ended run whose unfinished groups are to be done now. */
  resume: z.string().exactOptional(),
  groups: z
    .array(z.string())
    .min(1)
    .transform((groups) => [...new Set(groups)])
    .exactOptional(),
});

const started = {
  status: 202,
  json: startedAnswer,
  headers: { Location: 'Where to ask how it stands' },
} as const;

export const runCalls = {
  startRun: call({
    method: 'POST',
    audit: 'start run',
    route: 'ops/runs',
    tag: 'Runs',
    summary: `Starts a run of a job: ${jobNames.payments}`,
    idempotencyKey: 'optional',
    durable: true,
    body: startRunBody,
    answer: started,
    problems: [409],
    async handle({ body: { job: name, ...run }, idempotencyKey, orchestrations, record }, parts) {
      const { job } = parts;
      if (name !== job.name) {
        return badRequest([{ field: 'job', error: `expected "${job.name}", got "${name}"` }]);
      }
      const request = { ...run, idempotencyKey };
      return startedResponse(
        await startRun({ ...parts, orchestrations }, request),
        (made, { runId, groups }) =>
          record(`${job.name}/${runId}`, { ...run, groups: groups.join(',') }, made),
      );
    },
  }),
  startBulk: call({
    method: 'POST',
    audit: 'start bulk',
    route: 'ops/bulk',
    tag: 'Runs',
    summary: 'Retries or voids invoices, or redrives or discards messages, by a filter; as a run',
    idempotencyKey: 'required',
    durable: true,
    body: bulkBody,
    answer: started,
    problems: [409],
    async handle({ caller, body, idempotencyKey, orchestrations, record }, parts) {
      const { dryRun, ...wanted } = body;
      const { action, filter, reason, cap = null } = wanted;
      const job = parts.bulk;
      const request = { ...wanted, ...named(caller) };
      const run = await startRun(
        { ...parts, job, orchestrations },
        { dryRun, idempotencyKey, groups: [bulkGroups[action]], request, mostOpen: mostOpenBulk },
      );
      const detail = { action, reason, filter: JSON.stringify(filter), cap, dryRun };
      return startedResponse(run, (made, { runId }) => record(`${job.name}/${runId}`, detail, made));
    },
  }),
  listRuns: call({
    method: 'GET',
    route: 'ops/runs',
    tag: 'Runs',
    summary: 'A page of runs, newest first',
    query: listQuery(runStatuses).extend({
      job: oneOf([jobNames.payments, jobNames.bulk, 'all']).default(jobNames.payments),
    }),
    answer: { json: runsAnswer },
    async handle({ query: { status, job, ...query } }, { runs, instance }) {
      const now = instance.clock.now();
      const stored = status === undefined ? {} : storedAs(status, now);
      const of = job === 'all' ? {} : { job };
      const page = await runs.list({ pageSize, ...of, ...query, ...stored });
      return { jsonBody: pageAnswer('runs', page, (run) => runView(asShown(run, now))) };
    },
  }),
  getRun: call({
    method: 'GET',
    route: 'ops/runs/{id}',
    tag: 'Runs',
    summary: 'How a run stands, group by group',
    answer: { json: runAnswer },
    problems: [404],
    async handle({ id }, parts) {
      const run = await findRun(parts, id);
      return run === undefined
        ? notFound(`run "${id}"`)
        : { jsonBody: runView(asShown(run, parts.instance.clock.now())) };
    },
  }),
  listRefused: call({
    method: 'GET',
    route: 'ops/runs/{id}/refused',
    tag: 'Runs',
    summary: 'What a bulk run was asked to change and did not, with the reason for each',
    query: continuationQuery,
    answer: { json: refusedAnswer },
    async handle({ id, query }, { audit }) {
      const { items, ...place } = await audit.list({ target: refusedBy(id), pageSize, ...query });
      const refused = items.map(({ detail }) => refusedIn(detail ?? {}));
      return { jsonBody: pageAnswer('refused', { items: refused.flat(), ...place }, (one) => one) };
    },
  }),
  cancelRun: call({
    method: 'POST',
    audit: 'cancel run',
    route: 'ops/runs/{id}/cancel',
    tag: 'Runs',
    summary: 'Ends a running run; its groups stop after their current batch',
    durable: true,
    body: optionalReasonBody,
    mayBeEmpty: true,
    answer: { json: runAnswer },
    problems: [404, 409],
    async handle({ id: runId, caller, body: { reason }, orchestrations, record }, parts) {
      const job = (await findRun(parts, runId))?.job ?? parts.job.name;
      const text = `cancelled by ${caller.actor}${reason === undefined ? '' : `: ${reason}`}`;
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
          await record(`${job}/${runId}`, { reason: reason ?? null });
          return { jsonBody: runView(run) };
        }
      }
    },
  }),
};

async function findRun({ job, bulk, runs }: Pick<OpsParts, 'job' | 'bulk' | 'runs'>, id: string) {
  return (await runs.read(job.name, id)) ?? (await runs.read(bulk.name, id));
}

/** The answer to a request for a run, which repetitions get, too. */
async function startedResponse(
  started: StartedRun,
  record: (made: Made, run: Extract<StartedRun, { kind: 'started' }>) => Promise<void>,
): Promise<OpsResponse<z.infer<typeof startedAnswer>>> {
  switch (started.kind) {
    case 'bad':
      return badRequest([{ field: started.field, error: started.error }]);
    case 'tooManyOpen':
      return conflict(`${started.open} bulk runs are open: ask again once one has ended, or cancel one`);
    case 'otherRequest':
      return keyTaken(`GET /api/ops/runs/${started.runId} says which`);
    case 'started': {
      const { runId, status, startedAt } = started;
      await record({ id: runId, at: startedAt }, started);
      return { headers: { location: `/api/ops/runs/${runId}` }, jsonBody: { runId, status } };
    }
  }
}
