import type { Patch } from '../../documents/documentStore.ts';
import type { Invoice } from '../invoice.ts';
import { overdueRefunds } from '../reversals.ts';
import { type Movement, movementsOf } from '../store/movements.ts';

/** As much of an invoice as its figures depend on. */
export type Countable = Pick<Invoice, 'id' | 'currency' | 'amountMinor' | 'status'> &
  Partial<Pick<Invoice, 'actionableAt' | 'payment' | 'declinedAt' | 'reversals' | 'archivedAt'>>;

export type Counts = Map<string, number>;

/** What one invoice adds to the figures. */
export interface Contribution {
  /** To those of the shard, except for `due`. */
  standing: Counts;
  /** To those of each day (`YYYY-MM-DD`, UTC). */
  days: Map<string, Counts>;
}

/**
 * The names of the counts. Those of a status are the status. They are names of properties, so they have no dot and no slash.
 *
 * `due` counts the pending invoices whose `actionableAt` is before the horizon of the document (figureDocument.ts).
 */
export const countName = {
  due: 'due',
  charges: 'charges',
  overdueRefunds: 'overdueRefunds',
  /** Raised by each change: a document whose counts are the same may still have moved. */
  moves: 'moves',
  refunded: (currency: string) => `refunded_${currency}`,
  refundedMinor: (currency: string) => `refundedMinor_${currency}`,
  openDisputes: (currency: string) => `openDisputes_${currency}`,
  openDisputesMinor: (currency: string) => `openDisputesMinor_${currency}`,
  moved: (kind: Movement['kind'], currency: string) => `${kind}_${currency}`,
  movedMinor: (kind: Movement['kind'], currency: string) => `${kind}Minor_${currency}`,
} as const;

/** Counts that an invoice adds to the figures as it is. Pure. */
export function contributionOf(invoice: Countable): Contribution {
  const { status, payment, reversals, currency } = invoice;
  const standing: Counts = new Map();
  const days = new Map<string, Counts>();
  add(standing, status, 1);
  if (payment?.id !== undefined) add(standing, countName.charges, 1);
  if (reversals !== undefined && reversals.refundedMinor > 0) {
    add(standing, countName.refunded(currency), 1);
    add(standing, countName.refundedMinor(currency), reversals.refundedMinor);
  }
  for (const { status: state, amountMinor, currency: its = currency } of reversals?.disputes ?? []) {
    if (state !== 'open') continue;
    add(standing, countName.openDisputes(its), 1);
    add(standing, countName.openDisputesMinor(its), amountMinor);
  }
  const overdue = overdueRefunds(reversals ?? { refunds: [] }).length;
  if (overdue > 0) add(standing, countName.overdueRefunds, overdue);
  for (const { kind, at, amountMinor, currency: its } of movementsOf(invoice)) {
    const day = at.slice(0, 10);
    const counts = days.get(day) ?? new Map();
    days.set(day, counts);
    add(counts, countName.moved(kind, its), 1);
    add(counts, countName.movedMinor(kind, its), amountMinor);
  }
  return { standing, days };
}

/** Whether an invoice counts as due. `horizon`: see figureDocument.ts. Pure. */
export function isDueBefore({ status, actionableAt }: Countable, horizon: string): boolean {
  return status === 'pending' && actionableAt !== undefined && actionableAt < horizon;
}

/** An invoice as a patch leaves it. Of the patch, only fields of the invoice itself count. Pure. */
export function patched<T extends Countable>(invoice: T, { set = {}, remove = [] }: Patch): T {
  const kept = Object.fromEntries(Object.entries(invoice).filter(([field]) => !remove.includes(field)));
  return { ...kept, ...set } as T;
}

/** Adds a number to a count. */
export function add(counts: Counts, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** Adds counts to others. */
export function addAll(to: Counts, counts: Iterable<readonly [string, number]>): void {
  for (const [name, n] of counts) add(to, name, n);
}
