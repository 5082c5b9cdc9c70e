import { z } from 'zod';
import { PartOfArchivedDay } from '../archive/withArchivedFigures.ts';
import { shown } from '../intake/fieldErrors.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type Movement, type MovementQuery, movementKinds } from '../invoice/store/movements.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import { addUp, type Report, reportColumns, reportRow, type Totals } from '../reporting/report.ts';
import { reportAnswer } from './answers/figureAnswers.ts';
import { call } from './call.ts';
import { aTime, currencyField, timeField } from './fields.ts';
import { badQuery } from './requests.ts';

const dayMs = 86_400_000;
/** A leap year. The answer is made in memory, with a row for each day and currency; a longer time is several requests. */
const mostDays = 366;
/** Days of a report that names no `from`. */
const usualDays = 30;

/** A day, which is `[its beginning, the beginning of the next]`, or a moment. */
const momentField = z.union(
  [
    z.iso.date().transform((day) => ({ begins: Date.parse(day), ends: Date.parse(day) + dayMs })),
    timeField.transform((time) => ({ begins: Date.parse(time), ends: Date.parse(time) })),
  ],
  { error: ({ input }) => `expected a day as YYYY-MM-DD, or ${aTime}, got ${shown(input)}` },
);

/**
 * A day counts as a whole, as `from` and as `to`; of times, `from` is the first that counts and `to` the first that does
 * not. The answer is CSV if the caller accepts `text/csv`.
 */
export const getReport = call({
  method: 'GET',
  route: 'ops/report',
  tag: 'Figures',
  summary: 'What was paid, declined, refunded and disputed, per day (UTC) and currency, without fees',
  query: z.object({
    from: momentField.exactOptional(),
    to: momentField.exactOptional(),
    currency: currencyField.exactOptional(),
  }),
  answer: { json: reportAnswer, csv: 'The same, a row for each day and currency' },
  problems: [500],
  async handle({ request, query: { from: first, to: last, currency } }, { invoices, instance }) {
    const endOfToday = (Math.floor(instance.clock.now() / dayMs) + 1) * dayMs;
    const ends = last?.ends ?? endOfToday;
    const begins = first?.begins ?? ends - usualDays * dayMs;
    if (begins >= ends) return badQuery([{ field: 'to', error: 'expected a time after "from"' }]);
    if (ends - begins > mostDays * dayMs) {
      return badQuery([{ field: 'from', error: `expected at most ${mostDays} days before "to"` }]);
    }
    const period = { from: new Date(begins).toISOString(), to: new Date(ends).toISOString() };
    try {
      const asked = { ...period, ...(currency === undefined ? {} : { currency }) };
      const report = await addUp(movedIn(invoices, asked));
      const { headers, body } = acceptsCsv(request.headers.get('accept'))
        ? asCsv(report)
        : asJson(report, { ...period, currency: currency ?? null });
      return { headers: { ...headers, vary: 'Accept' }, body };
    } catch (error) {
      if (error instanceof PartOfArchivedDay) return badQuery([wholeDays(error, begins)]);
      throw error;
    }
  },
});

function wholeDays({ day, message }: PartOfArchivedDay, begins: number) {
  const field = begins > Date.parse(day) ? 'from' : 'to';
  return { field, error: `expected a whole day, as YYYY-MM-DD: ${message}` };
}

type Totalled = Pick<InvoiceStore, 'movements' | 'dayFigures'>;

/**
 * Movements: of whole days as the figures have it, so that the number of invoices does not matter; of parts of a day, and
 * where the figures cannot be relied on, invoice by invoice.
 */
async function* movedIn(invoices: Totalled, asked: MovementQuery): AsyncGenerator<readonly Movement[]> {
  const { from, to, currency } = asked;
  const first = new Date(Math.ceil(Date.parse(from) / dayMs) * dayMs).toISOString();
  const end = new Date(Math.floor(Date.parse(to) / dayMs) * dayMs).toISOString();
  const lastDay = new Date(Date.parse(end) - dayMs).toISOString().slice(0, 10);
  const figures =
    first < end ? await invoices.dayFigures({ from: first.slice(0, 10), to: lastDay }) : undefined;
  if (figures === undefined) {
    yield* invoices.movements(asked);
    return;
  }
  if (from < first) yield* invoices.movements({ ...asked, to: first });
  yield figures
    .filter((figure) => currency === undefined || figure.currency === currency)
    .map(({ day, ...figure }) => ({ ...figure, at: day }));
  if (end < to) yield* invoices.movements({ ...asked, from: end });
}

function asCsv({ days }: Report) {
  const lines = [reportColumns, ...days.map(reportRow)].map(csvLine);
  return { headers: { 'content-type': csvType }, body: lines.join('') };
}

function asJson({ days, currencies }: Report, asked: { from: string; to: string; currency: string | null }) {
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
