/** An outage to simulate: which services are away, how, and for how long. */
import type { Service } from '../plan/faults.ts';
import { hour, type Plan, type PlannedInvoice } from '../plan/plan.ts';

/** Services that can be down, as an operator would name them. */
export const awayServices = ['cosmos', 'serviceBus', 'storage', 'provider'] as const;
export type AwayService = (typeof awayServices)[number];

/** Storage is one account: the leases, the queue of work items and the receipts are in it. */
const partsOf: Readonly<Record<AwayService, readonly Service[]>> = {
  cosmos: ['cosmos'],
  serviceBus: ['serviceBus'],
  storage: ['locks', 'storageQueue', 'blobs'],
  provider: ['provider'],
};

/** Calls are refused (503, and the provider may have charged), hang until they time out, or are not let in. */
export const manners = ['refused', 'silent', 'denied'] as const;
export type Manner = (typeof manners)[number];

export interface OutageCell {
  away: readonly AwayService[];
  minutes: number;
  how: Manner;
}

export const minute = 60_000;
export const durations = [1, 20, 3 * 60, 30 * 60] as const;

/** Each service alone, and each pair. */
export const combinations: readonly (readonly AwayService[])[] = awayServices.flatMap((one, place) => [
  [one],
  ...awayServices.slice(place + 1).map((other) => [one, other]),
]);

/** Charges per second. Slow, so that a backlog takes long enough to tell the pace from the waiting. */
export const chargesPerSecond = 1;
export const shardGroups = 4;

/** The outage begins after this time, in milliseconds, in the middle of payments. */
export const beginsMs = 22 * minute;
const burst = 200;
const burstDueMs = 20 * minute;
/** Invoices that become due one by one, from the beginning to the end of the outage. */
const spread = 400;

/** Three instances, and what is due: the rest of a burst when the outage begins, and one by one until it ends. */
export function planOfCell({ away, minutes, how }: OutageCell, seed: number): Plan {
  const lastsMs = minutes * minute;
  const horizonMs = beginsMs + lastsMs;
  const dueAt = (n: number) => (n < burst ? burstDueMs : Math.round(((n - burst) * horizonMs) / spread));
  const instances = 3;
  return {
    seed,
    instances,
    horizonMs,
    invoices: Array.from({ length: burst + spread }, (_, n) => invoiceOf(n, dueAt(n))),
    faults: away
      .flatMap((service) => partsOf[service])
      .map((service, number) => ({ at: beginsMs, number, kind: 'outage', service, ms: lastsMs, how })),
    clockErrorMs: Array.from({ length: instances }, () => 0),
    rate: chargesPerSecond,
    shards: 16,
    shardGroups,
    batchSize: 50,
    claimStaleSeconds: 300,
    paymentTimeoutSeconds: 30,
    invoiceEveryMs: 5 * minute,
    listsEvents: false,
    notifies: true,
    searchLagMs: minute,
  };
}

function invoiceOf(n: number, dueAt: number): PlannedInvoice {
  const customer = n % 40;
  // One in ten is charged with the customer's default.
  const named = n % 10 === 0 ? {} : { paymentMethod: `pm-${customer}` };
  const terms = { amountMinor: 1_000 + n, currency: 'USD', dueAt, fates: [] };
  return { id: `inv-${n}`, customerId: `cus-${customer}`, ...named, ...terms };
}

/** Time after an outage by which every invoice must be paid (ms); otherwise it counts as never finished. */
export const patienceMs = 12 * hour;
