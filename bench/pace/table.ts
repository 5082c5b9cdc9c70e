import type { Cell } from './cells.ts';
import type { Measurement } from './verdict.ts';

const columns = [
  ['per s', 6],
  ['latency', 8],
  ['hosts', 10],
  ['share', 7],
  ['after', 7],
  ['refused', 9],
  ['claims', 8],
  ['cosmos', 8],
  ['pace', 8],
  ['busy', 7],
  ['paid', 7],
] as const;

/** Meaning of the columns, then their names. */
export const heading = [
  'share: of the allowance that became charges, over a steady time; after: over 30 s after a host was killed or added',
  'refused: of all calls; claims: per paid invoice; cosmos, pace: requests per invoice, apart; busy: processors of the machine; paid: invoices',
  line(columns.map(([name]) => name)),
].join('\n');

/** One line of the table. */
export function rowOf(cell: Cell, measured: Measurement, misses: readonly string[]): string {
  const { shareAfterChange: after } = measured;
  const cells = [
    ...namesOf(cell),
    figure(measured.share),
    figure(after),
    `${(measured.refused * 100).toFixed(2)} %`,
    figure(measured.claimsPerPaid),
    figure(measured.cosmosPerInvoice),
    figure(measured.pacePerInvoice),
    `${(measured.busy * 100).toFixed(0)} %`,
    `${measured.paid}`,
  ];
  return `${line(cells)}  ${misses.length === 0 ? 'ok' : `MISSED: ${misses.join('; ')}`}`;
}

/** The line of a cell that could not be measured. */
export function failureRowOf(cell: Cell, error: string): string {
  return `${line(namesOf(cell))}  FAILED: ${error}`;
}

function namesOf({ rate, latencyMs, hosts, change }: Cell): string[] {
  const fleet = change === undefined ? `${hosts}` : `${hosts}, ${change}`;
  return [`${rate}`, `${latencyMs} ms`, fleet];
}

/** A dash if there is nothing to divide by. */
function figure(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3);
}

function line(cells: readonly string[]): string {
  return cells.map((text, index) => text.padStart(columns[index]?.[1] ?? 0)).join(' ');
}
