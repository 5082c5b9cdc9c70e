import type { Figures, Sums } from './figures.ts';

/** Response of the import call. */
export interface Imported {
  created: number;
  duplicates: number;
  rejectedCount: number;
  /** The first of them. */
  rejected: { index: number; field: string; error: string }[];
}

/** The rate of the charges is that of this time, in milliseconds. */
const rateOverMs = 5_000;

/** Describes the state of the first run at `now` (epoch ms) in one line. */
export function progressLine({ invoices, charges }: Figures, now: number): string {
  const count = (status: string) => invoices.filter((invoice) => invoice.status === status).length;
  const parts = ['pending', 'claimed', 'processing', 'paid', 'declined', 'parked'].map(
    (status) => `${status} ${count(status)}`,
  );
  const latest = charges.filter(({ createdAt }) => now - Date.parse(createdAt ?? '') < rateOverMs).length;
  const rate = latest === 0 ? '' : ` (${((latest * 1000) / rateOverMs).toFixed(0)} a second)`;
  parts.push(`charges ${charges.length}${rate}`);
  const charged = new Set(charges.map(({ invoiceId }) => invoiceId));
  const unconfirmed = invoices.filter(({ id, status }) => status !== 'paid' && charged.has(id)).length;
  if (unconfirmed > 0) parts.push(`charged, being confirmed: ${unconfirmed}`);
  return `  ${parts.join('   ')}`;
}

/** The summary of the first run. */
export function report({
  imported,
  figures,
  sums,
  refused,
  chargedBefore,
}: {
  imported: Imported;
  figures: Figures;
  sums: Sums;
  /** Calls over the payment provider's rate limit, by endpoint. */
  refused: Readonly<Record<string, number>>;
  chargedBefore: number;
}): string[] {
  const { created, duplicates, rejectedCount, rejected } = imported;
  const { byStatus, paidBy, problems, chargedTwice, retriesLater } = sums;
  const retries = total(retriesLater.values());
  const charges = figures.charges.length;
  return [
    `Imported    ${created} new, ${duplicates} known already, ${rejectedCount} refused:`,
    ...rejected.map(({ index, field, error }) => `              row ${index}, ${field}: ${error}`),
    `Paid        ${byStatus.paid}`,
    ...[...paidBy]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([by, count]) => `              by ${by}: ${count}`),
    `Declined    ${byStatus.declined}`,
    `Waiting     ${byStatus.pending}: ${byStatus.pending - retries} due later, ${retries} for a later retry`,
    ...[...retriesLater]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([why, count]) => `              ${why === 'declined' ? 'soft declines' : why}: ${count}`),
    `Parked      ${byStatus.parked} (a person has to look)`,
    `Charges     ${charges} in the payment ledger for ${byStatus.paid} paid invoices, ${charges - chargedBefore} of them new`,
    ...refusals(refused),
    `Charged twice: ${chargedTwice}`,
    ...(problems.length === 0
      ? [
          'Everything adds up.',
          ...(retries === 0 ? [] : [`Not everything is paid: ${retries} wait for a later retry.`]),
        ]
      : ['It does not add up:', ...problems.map((text) => `  ${text}`)]),
  ];
}

/** Nothing if no call was refused. */
function refusals(refused: Readonly<Record<string, number>>): string[] {
  const some = Object.entries(refused).filter(([, count]) => count > 0);
  if (some.length === 0) return [];
  return [
    `Refused     ${total(some.map(([, count]) => count))} payment calls over the provider's rate limit (429):`,
    ...some.map(([endpoint, count]) => `              ${endpoint}: ${count}`),
  ];
}

function total(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0);
}
