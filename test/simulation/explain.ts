/** A violation for people: the faults that are needed for it, and the history of the invoice concerned. */

import { invariants } from './invariants/violation.ts';
import { describe } from './plan/faults.ts';
import type { Simulated } from './simulate.ts';

/** Lines that are shown at most: the first and the last half of them. */
const mostLines = 120;

/** `simulated` has kept its history in words. */
export function explain({ plan, violation, history }: Simulated): string[] {
  if (violation === undefined) return ['nothing is violated'];
  const { invariant, what, invoiceId, at } = violation;
  const name = invoiceId === undefined ? '' : `${invoiceId}: `;
  return [
    `"${invariant}" (${invariants[invariant]}) is violated ${(at / 1000).toFixed(3)} s after the beginning:`,
    `  ${name}${what}`,
    '',
    `${plan.instances} instances, ${plan.invoices.length} invoices, ${plan.rate} charges a second, and these faults:`,
    ...(plan.faults.length === 0 ? ['  none'] : plan.faults.map((fault) => `  ${describe(fault)}`)),
    '',
    invoiceId === undefined ? 'The end of the history:' : `The history of ${invoiceId}:`,
    ...shortened(invoiceId === undefined ? history.lines.slice(-40) : about(invoiceId, history.lines)),
  ].map((line) => line.trimEnd());
}

/**
 * Picks the lines that name the invoice, its batches or its payments, and those of faults and of hosts that
 * crash, stop or stall.
 */
function about(invoiceId: string, lines: readonly string[]): string[] {
  const own = new RegExp(`\\b${invoiceId}(?![0-9])`);
  const names = new Set<string>();
  for (const line of lines.filter((one) => own.test(one))) {
    for (const name of line.match(/[0-9a-f]{8}-[0-9a-f-]{27}|pi-\d+/g) ?? []) names.add(name);
  }
  return lines.filter(
    (line) =>
      own.test(line) ||
      / (fault|host-\d+) +(crash|starts|stops|is |stall|clock|stop |leasesLost|deployment|none)/.test(line) ||
      [...names].some((name) => line.includes(name)),
  );
}

function shortened(lines: readonly string[]): string[] {
  if (lines.length <= mostLines) return [...lines];
  const half = mostLines / 2;
  return [...lines.slice(0, half), `  … ${lines.length - mostLines} lines …`, ...lines.slice(-half)];
}
