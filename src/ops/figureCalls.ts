import { z } from 'zod';
import { shardNames } from '../invoice/shard.ts';
import type { Correction, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Clock } from '../platform/clock.ts';
import { auditAnswer, recountAnswer, summaryAnswer } from './answers/figureAnswers.ts';
import { overviewAnswer } from './answers/overviewAnswers.ts';
import { call } from './call.ts';
import { dayQuery, reasonBody } from './fields.ts';
import { getReport } from './getReport.ts';
import { badRequest, pageAnswer, today } from './requests.ts';
import { summarize } from './summary.ts';

const auditPageSize = 100;

/** Corrections that an answer names; the others are counted. */
const mostShown = 100;
/** No shard is begun after this time, in milliseconds: the platform ends a request after 230 s. */
const withinMs = 120_000;
/** A shard whose invoices change meanwhile is counted again, after a moment. */
const tries = 3;
const pauseMs = 500;

export const figureCalls = {
  getSummary: call({
    method: 'GET',
    route: 'ops/summary',
    tag: 'Figures',
    summary: 'Counts of everything, how the allowance is used, and how long the backlog will take',
    answer: { json: summaryAnswer },
    handle: async (_asked, parts) => ({ jsonBody: await summarize(parts) }),
  }),
  getOverview: call({
    method: 'GET',
    route: 'ops/overview',
    tag: 'Figures',
    summary: 'What needs a person, and the figures of the summary with runs, leases and payments per day',
    answer: { json: overviewAnswer },
    handle: async (_asked, { overview }) => ({ jsonBody: await overview() }),
  }),
  getReport,
  recountFigures: call({
    method: 'POST',
    audit: 'recount figures',
    route: 'ops/recount',
    tag: 'Figures',
    summary:
      'Counts all invoices, puts the figures of the summary and the report right, and says what was wrong',
    body: reasonBody.extend({ shards: z.array(z.string()).min(1).exactOptional() }),
    answer: { json: recountAnswer },
    problems: [500],
    /** One shard after the other. Those that are left, or never stood still, can be asked for again. */
    async handle({ body, record }, { invoices, shards, instance: { clock } }) {
      const names = shardNames(shards);
      const { reason, shards: wanted = names } = body;
      const unknown = wanted.find((shard) => !names.includes(shard));
      if (unknown !== undefined) {
        const error = `expected shards from "${names[0]}" to "${names.at(-1)}", got "${unknown}"`;
        return badRequest([{ field: 'shards', error }]);
      }
      const until = clock.monotonic() + withinMs;
      const corrections: Correction[] = [];
      const busy: string[] = [];
      const left: string[] = [];
      let done = 0;
      let counted = 0;
      for (const shard of new Set(wanted)) {
        if (clock.monotonic() > until) {
          left.push(shard);
          continue;
        }
        const recounted = await recount(invoices, shard, clock);
        if (recounted.kind === 'busy') {
          busy.push(shard);
          continue;
        }
        done++;
        counted += recounted.invoices;
        corrections.push(...recounted.corrections);
      }
      await record('figures', { reason, shards: done, invoices: counted, corrected: corrections.length });
      return {
        jsonBody: {
          shards: done,
          invoices: counted,
          corrected: corrections.length,
          corrections: corrections.slice(0, mostShown).map(({ day = null, ...one }) => ({ day, ...one })),
          busy,
          left,
        },
      };
    },
  }),
  listAudit: call({
    method: 'GET',
    route: 'ops/audit',
    tag: 'Figures',
    summary: 'What was done through these calls on a day (UTC, today if absent), newest first',
    query: dayQuery,
    answer: { json: auditAnswer },
    async handle({ query }, { audit, instance }) {
      const page = await audit.list({ day: today(instance.clock), pageSize: auditPageSize, ...query });
      return { jsonBody: pageAnswer('records', page, (record) => record) };
    },
  }),
};

async function recount(invoices: Pick<InvoiceStore, 'recount'>, shard: string, clock: Clock) {
  for (let tried = 1; ; tried++) {
    const recounted = await invoices.recount(shard);
    if (recounted.kind === 'recounted' || tried === tries) return recounted;
    await clock.sleep(pauseMs);
  }
}
