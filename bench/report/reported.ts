import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { reportKinds } from '../../src/invoice/counters/counters.ts';
import type { Figures } from './figures.ts';

const rowSchema = z.looseObject({ day: z.string(), currency: z.string() }).catchall(z.string());

/** The CSV that a running app answers. @throws if it does not answer with a report */
export async function askForReport(address: string, query: URLSearchParams): Promise<string> {
  const response = await fetch(`${address}/ops/report?${query.toString()}`, {
    headers: { accept: 'text/csv' },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the app answers ${response.status}: ${text}`);
  return text;
}

/** Reads the figures of a report from its CSV: there the amounts have all their digits. */
export function reportedFigures(csv: string): Figures {
  const rows = z.array(rowSchema).parse(parse(csv, { columns: true }));
  return new Map(
    rows.flatMap((row) =>
      reportKinds.flatMap((kind) => {
        const figure = { count: Number(row[`${kind}Count`]), minor: BigInt(row[`${kind}Minor`] ?? '') };
        return figure.count === 0 ? [] : [[`${row.day} ${row.currency} ${kind}`, figure] as const];
      }),
    ),
  );
}
