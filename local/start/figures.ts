import type { CosmosClient } from '@azure/cosmos';
import { type InvoiceStatus, invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';

/** The fields of an invoice that are needed to add up the results. */
export interface InvoiceFigure {
  id: string;
  status: InvoiceStatus;
  amountMinor: number;
  currency: string;
  actionableAt?: string;
  /** Why it is parked or declined. */
  reason?: string;
  timeline: { at?: string; what: string; by: string }[];
}

/** A charge that moved money, from the payment stand-in's ledger: the only evidence that counts. */
export interface Charge {
  /** When it was made: ISO 8601. */
  createdAt?: string;
  invoiceId: string;
  amount: number;
  currency: string;
}

export interface Figures {
  invoices: InvoiceFigure[];
  charges: Charge[];
  /** Outbox messages not sent yet. */
  undispatched: number;
}

/** Reads the current state of store and ledger. */
export async function readFigures({
  cosmos,
  payments,
}: {
  cosmos: CosmosClient;
  payments: string;
}): Promise<Figures> {
  const container = cosmos.database(databaseName).container(containers.invoices.name);
  const [invoices, outbox, ledger] = await Promise.all([
    container.items
      .query<InvoiceFigure>(
        `SELECT c.id, c.status, c.amountMinor, c.currency, c.actionableAt, c.reason, c.timeline FROM c WHERE c.type = 'invoice'`,
      )
      .fetchAll(),
    container.items
      .query<number>(`SELECT VALUE COUNT(1) FROM c WHERE c.type = 'outboxMessage' AND c.status = 'pending'`)
      .fetchAll(),
    fetch(`${payments}/_local/charges`),
  ]);
  const charges = (await ledger.json()) as Charge[];
  return { invoices: invoices.resources, charges, undispatched: outbox.resources[0] ?? 0 };
}

/** Calls that the payment stand-in's rate limit has refused since its start, by endpoint. */
export async function readOverRate(payments: string): Promise<Record<string, number>> {
  const stats = (await (await fetch(`${payments}/_local/stats`)).json()) as {
    overRate: Record<string, number>;
  };
  return stats.overRate;
}

/** Wait for invoices actionable within this time, in milliseconds: a retry in a minute, not one tomorrow. */
const soonMs = 60_000;

/** True if nothing is left to do, now or within a minute. Pure. */
export function isSettled({ invoices, undispatched }: Figures, now: number): boolean {
  return (
    undispatched === 0 &&
    invoices.every(
      ({ status, actionableAt }) =>
        status !== 'claimed' &&
        (status !== 'pending' || (actionableAt !== undefined && Date.parse(actionableAt) > now + soonMs)),
    )
  );
}

export interface Sums {
  byStatus: Record<InvoiceFigure['status'], number>;
  /** Number of invoices settled as paid, by instance. */
  paidBy: Map<string, number>;
  /** Mismatches, in words; empty if everything adds up. */
  problems: string[];
  chargedTwice: number;
  /** Number of pending invoices that wait for another try, by why the last one came to nothing. */
  retriesLater: Map<string, number>;
}

/** Checks the store against the ledger: paid ⇔ charged, once, with the right amount. Pure. */
export function addUp({ invoices, charges }: Figures): Sums {
  const byStatus = Object.fromEntries(invoiceStatuses.map((status) => [status, 0])) as Sums['byStatus'];
  const paidBy = new Map<string, number>();
  const problems: string[] = [];
  const chargesOf = Map.groupBy(charges, ({ invoiceId }) => invoiceId);
  const known = new Set(invoices.map(({ id }) => id));
  const retriesLater = new Map<string, number>();
  let chargedTwice = 0;
  for (const { id, status, amountMinor, currency, timeline, reason } of invoices) {
    byStatus[status]++;
    const retry = status === 'pending' ? retryReason(timeline) : undefined;
    if (retry !== undefined) retriesLater.set(retry, (retriesLater.get(retry) ?? 0) + 1);
    const own = chargesOf.get(id) ?? [];
    if (own.length > 1) {
      chargedTwice++;
      problems.push(`${id} was charged ${own.length} times`);
    }
    if (status === 'paid') {
      const by = timeline.find(({ what }) => what === 'paid')?.by ?? 'unknown';
      paidBy.set(by, (paidBy.get(by) ?? 0) + 1);
      const [charge] = own;
      if (charge === undefined) problems.push(`${id} is paid, but the ledger has no charge`);
      else if (charge.amount !== amountMinor || charge.currency.toUpperCase() !== currency) {
        problems.push(`${id}: charged ${charge.amount} ${charge.currency} for ${amountMinor} ${currency}`);
      }
    } else if (own.length > 0) problems.push(`${id} is ${status}, but was charged`);
    if (status === 'parked') problems.push(`${id} is parked: ${reason ?? 'no reason given'}`);
  }
  for (const id of chargesOf.keys())
    if (!known.has(id)) problems.push(`${id} was charged, but there is no such invoice`);
  return { byStatus, paidBy, problems, chargedTwice, retriesLater };
}

/** Why the invoice's last try is to be repeated, from an entry such as `retry: declined`. */
function retryReason(timeline: InvoiceFigure['timeline']): string | undefined {
  return /^retry: (.+)$/.exec(timeline.at(-1)?.what ?? '')?.[1];
}
