import { z } from 'zod';
import { shardNames } from '../invoice/shard.ts';
import type { Correction } from '../invoice/store/invoiceStore.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import { overviewAnswer } from './answers/overviewAnswers.ts';
import { auditAnswer, recountAnswer, reportAnswer, summaryAnswer } from './answers/reportAnswers.ts';
import { call } from './call.ts';
import { currencyField, dayField, dayQuery, partOf, reasonBody, today } from './fields.ts';
import { pageAnswer } from './listPages.ts';
import { overviewOf } from './overview.ts';
import { badQuery, badRequest } from './refusals.ts';
import { addUp, reportColumns, reportRow } from './report.ts';
import { summarize } from './summary.ts';

const auditPageSize = 100;

/** Corrections that an answer names; the others are counted. */
const mostShown = 100;
/** No shard is begun after this time, in milliseconds: the platform ends a request after 230 s. */
const withinMs = 120_000;

const dayMs = 86_400_000;
/** A leap year. The answer is made in memory, with a row for each day and currency; a longer time is several requests. */
const mostDays = 366;
/** Days of a report that names no `from`. */
const usualDays = 30;

export const reportCalls = {
  getSummary: call({
    method: 'GET',
    route: 'ops/summary',
    tag: 'Overview',
    summary: 'Counts of everything, how the allowance is used, and how long the backlog will take',
    answer: { json: summaryAnswer },
    handle: async (_asked, parts) => ({ jsonBody: await summarize(parts) }),
  }),
  getOverview: call({
    method: 'GET',
    route: 'ops/overview',
    tag: 'Overview',
    summary: 'What needs a person, and the summary with runs, leases and payments per day',
    answer: { json: overviewAnswer },
    handle: async (_asked, parts) => ({ jsonBody: await overviewOf(parts) }),
  }),
  /** Both days count as a whole. The answer is CSV if the caller accepts `text/csv`; a header counts what could not be read. */
  getReport: call({
    method: 'GET',
    route: 'ops/report',
    tag: 'Overview',
    summary: 'What was paid, declined, refunded and disputed, per day (UTC) and currency, without fees',
    query: z.object({ from: dayField, to: dayField, currency: currencyField.exactOptional() }),
    answer: { json: reportAnswer, csv: 'The same, a row for each day and currency' },
    async handle({ request, query }, { invoices, instance }) {
      const { to = today(instance.clock), currency = null } = query;
      const { from = dayBefore(to, usualDays - 1) } = query;
      if (from > to) return badQuery([{ field: 'to', error: 'expected a day that is not before "from"' }]);
      if (from <= dayBefore(to, mostDays)) {
        return badQuery([{ field: 'from', error: `expected at most ${mostDays} days until "to"` }]);
      }
      const { counts, unreadable } = await invoices.dayCounts({ from, to });
      const report = addUp(counts.filter((one) => currency === null || one.currency === currency));
      const headers = { vary: 'Accept', 'x-unreadable': `${unreadable}` };
      if (acceptsCsv(request.headers.get('accept'))) {
        const lines = [reportColumns, ...report.days.map(reportRow)].map(csvLine);
        return { headers: { ...headers, 'content-type': csvType }, body: lines.join('') };
      }
      return {
        headers,
        jsonBody: { from, to, currency, unreadable, feesIncluded: false as const, ...report },
      };
    },
  }),
  recountFigures: call({
    method: 'POST',
    audit: 'recount figures',
    route: 'ops/recount',
    tag: 'Overview',
    summary:
      'Counts all invoices, corrects the counters of the summary and the report, and says what was wrong',
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
        const recounted = clock.monotonic() > until ? undefined : await invoices.recount(shard);
        if (recounted === undefined) left.push(shard);
        else if (recounted.kind === 'busy') busy.push(shard);
        else {
          done++;
          counted += recounted.invoices;
          corrections.push(...recounted.corrections);
        }
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
    tag: 'Overview',
    summary:
      'What was done through these calls, newest first: on a day (UTC), on some days, or to a target; today if none is named',
    query: dayQuery.extend({
      from: dayField,
      to: dayField,
      target: z.string().min(1).max(600).exactOptional(),
      actor: partOf('a name'),
      action: partOf('an action'),
    }),
    answer: { json: auditAnswer },
    async handle({ query: { day, ...query } }, { audit, instance }) {
      const { from, to, target } = query;
      const last = to ?? today(instance.clock);
      if (target === undefined && from !== undefined && from <= dayBefore(last, mostDays))
        return badQuery([{ field: 'from', error: `expected at most ${mostDays} days until "to"` }]);
      const isOpen = from === undefined && to === undefined && target === undefined;
      const only = day ?? (isOpen ? last : undefined);
      const days = only === undefined ? {} : { from: only, to: only };
      const page = await audit.list({ pageSize: auditPageSize, ...query, ...days });
      return { jsonBody: pageAnswer('records', page, (record) => record) };
    },
  }),
};

function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * dayMs).toISOString().slice(0, 10);
}

function acceptsCsv(accept: string | null): boolean {
  const types = accept?.toLowerCase() ?? '';
  return types.includes('text/csv') && !types.includes('application/json');
}
