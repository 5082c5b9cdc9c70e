import { z } from 'zod';
import { shown } from '../importing/fieldErrors.ts';
import { movementKinds } from '../invoice/figures/counters.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import { addUp, type Report, reportColumns, reportRow, type Totals } from '../reporting/report.ts';
import { reportAnswer } from './answers/figureAnswers.ts';
import { call } from './call.ts';
import { currencyField } from './fields.ts';
import { badQuery, today } from './requests.ts';

const dayMs = 86_400_000;
/** A leap year. The answer is made in memory, with a row for each day and currency; a longer time is several requests. */
const mostDays = 366;
/** Days of a report that names no `from`. */
const usualDays = 30;

const dayField = z.iso
  .date({ error: ({ input }) => `expected a day as YYYY-MM-DD, got ${shown(input)}` })
  .exactOptional();

/** Both days count as a whole. The answer is CSV if the caller accepts `text/csv`; a header counts what could not be read. */
export const getReport = call({
  method: 'GET',
  route: 'ops/report',
  tag: 'Figures',
  summary: 'What was paid, declined, refunded and disputed, per day (UTC) and currency, without fees',
  query: z.object({ from: dayField, to: dayField, currency: currencyField.exactOptional() }),
  answer: { json: reportAnswer, csv: 'The same, a row for each day and currency' },
  async handle({ request, query }, { invoices, instance }) {
    const { to = today(instance.clock), currency } = query;
    const { from = dayBefore(to, usualDays - 1) } = query;
    if (from > to) return badQuery([{ field: 'to', error: 'expected a day that is not before "from"' }]);
    if (from <= dayBefore(to, mostDays)) {
      return badQuery([{ field: 'from', error: `expected at most ${mostDays} days until "to"` }]);
    }
    const { figures, unreadable } = await invoices.dayFigures({ from, to });
    const report = addUp(figures.filter((one) => currency === undefined || one.currency === currency));
    const { headers, body } = acceptsCsv(request.headers.get('accept'))
      ? asCsv(report)
      : asJson(report, { from, to, currency: currency ?? null, unreadable });
    return { headers: { ...headers, vary: 'Accept', 'x-unreadable': `${unreadable}` }, body };
  },
});

function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * dayMs).toISOString().slice(0, 10);
}

function asCsv({ days }: Report) {
  const lines = [reportColumns, ...days.map(reportRow)].map(csvLine);
  return { headers: { 'content-type': csvType }, body: lines.join('') };
}

function asJson(
  { days, currencies }: Report,
  asked: { from: string; to: string; currency: string | null; unreadable: number },
) {
  const body = {
    ...asked,
    feesIncluded: false,
    days: days.map(({ totals, ...row }) => ({ ...row, ...figures(totals) })),
    totals: currencies.map(({ totals, ...row }) => ({ ...row, ...figures(totals) })),
  };
  return { headers: { 'content-type': 'application/json' }, body: exactJson(body) };
}

/** The kinds in their order, each as count and sum. */
function figures(totals: Totals) {
  return Object.fromEntries(movementKinds.map((kind) => [kind, totals[kind]]));
}

/** JSON whose integers have all their digits, however large. No text in a report looks like `123n`. */
function exactJson(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
  return text.replaceAll(/"(-?\d+)n"/g, '$1');
}

/** True if CSV is named and JSON is not named as something better (RFC 9110, section 12.5.1). */
function acceptsCsv(accept: string | null): boolean {
  const ranges = (accept ?? '').split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, quality: q === undefined ? 1 : Number(q) || 0 };
  });
  const qualityOf = (wanted: string) => ranges.find(({ type }) => type === wanted)?.quality ?? 0;
  return qualityOf('text/csv') > qualityOf('application/json');
}
