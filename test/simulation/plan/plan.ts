/** What happens in one schedule: all of it follows from the seed. */
import { type SeededRandom, seededRandom } from '../../support/seededRandom.ts';
import type { ChargeFate } from '../world/provider.ts';
import { type Fault, operatorActions, type Service, services } from './faults.ts';

export interface PlannedInvoice {
  id: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  /** Milliseconds from the beginning. */
  dueAt: number;
  paymentMethod?: string;
  /** What happens to its charges, one after the other; the rest succeed. */
  fates: readonly ChargeFate[];
}

export interface Plan {
  seed: number;
  instances: number;
  /** How long faults go on, in milliseconds. */
  horizonMs: number;
  invoices: readonly PlannedInvoice[];
  faults: readonly Fault[];
  /** By instance: how wrong its wall clock is, in milliseconds. */
  clockErrorMs: readonly number[];
  /** Charges per second. */
  rate: number;
  shards: number;
  shardGroups: number;
  batchSize: number;
  claimStaleSeconds: number;
  paymentTimeoutSeconds: number;
  invoiceEveryMs: number;
  /** Whether the provider's events are listed. */
  listsEvents: boolean;
  notifies: boolean;
  searchLagMs: number;
  /** The provider's limit is a token bucket that is a second deep. Absent: a count by the second of its clock. */
  tokenBucket?: true;
}

const minute = 60_000;
export const hour = 60 * minute;
const day = 24 * hour;

export interface PlanOptions {
  instances?: number;
  days?: number;
}

/** A source of its own for each purpose, so that leaving one fault out does not change the others. */
export function randomOf(seed: number, purpose: string): SeededRandom {
  let mixed = seed ^ 0x9e3779b9;
  for (let at = 0; at < purpose.length; at++) mixed = Math.imul(mixed ^ purpose.charCodeAt(at), 0x01000193);
  return seededRandom(mixed);
}

export function planOf(seed: number, options: PlanOptions = {}): Plan {
  const random = randomOf(seed, 'plan');
  const chance = (share: number) => random.next() < share;
  const instances = options.instances ?? random.pick([1, 2, 2, 3, 3, 3, 4, 5, 8, 20]);
  const horizonMs = options.days === undefined ? hour : Math.round(options.days * day);
  // Without faults nothing may be late, claimed twice or left over.
  const calm = chance(0.12);
  const count = Math.min(100, 1 + Math.floor(random.gap(calm ? 40 : 14)));
  const shards = random.pick([1, 4, 16]);
  const claimStaleSeconds = random.pick([60, 300, 300]);
  const plan = {
    seed,
    instances,
    horizonMs,
    rate: random.pick(calm ? [1, 2, 25] : [2, 10, 25, 25]),
    shards,
    shardGroups: Math.min(shards, random.pick([1, 2, 4])),
    batchSize: random.pick([3, 10, 50]),
    claimStaleSeconds,
    paymentTimeoutSeconds: random.pick(claimStaleSeconds === 60 ? [5, 18] : [10, 30]),
    invoiceEveryMs: random.pick([minute, 5 * minute]),
    listsEvents: chance(0.5),
    notifies: chance(0.5),
    searchLagMs: random.pick([1_000, 30_000, minute]),
    clockErrorMs: Array.from({ length: instances }, () =>
      calm || chance(0.6) ? 0 : random.between(-90_000, 90_000),
    ),
  };
  const invoices = Array.from({ length: count }, (_, n) => invoiceOf(n, random, calm, horizonMs));
  const faults = calm ? [] : faultsOf(random, { ...plan, invoices });
  return { ...plan, invoices, faults };
}

function invoiceOf(n: number, random: SeededRandom, calm: boolean, horizonMs: number): PlannedInvoice {
  const chance = (share: number) => random.next() < share;
  const customer = random.between(0, 8);
  const named = chance(0.8);
  return {
    id: `inv-${n}`,
    customerId: !named && chance(0.1) ? `cus-none-${customer}` : `cus-${customer}`,
    amountMinor: 1_000 + n,
    currency: random.pick(['USD', 'EUR', 'JPY']),
    dueAt: chance(0.5) ? 0 : random.between(0, Math.round(horizonMs * 0.7)),
    ...(named ? { paymentMethod: `pm-${customer}` } : {}),
    fates: calm ? [] : fatesOf(random),
  };
}

function fatesOf(random: SeededRandom): ChargeFate[] {
  const fates: ChargeFate[] = [];
  while (random.next() < 0.3 && fates.length < 6) {
    const roll = random.next();
    if (roll < 0.35) fates.push({ kind: 'declined', severity: 'soft' });
    else if (roll < 0.5) fates.push({ kind: 'declined', severity: 'hard' });
    else if (roll < 0.75) {
      const afterMs = random.pick([30_000, 10 * minute, 3 * hour, 2 * day, 10 * day]);
      fates.push({ kind: 'slow', afterMs, ends: random.pick(['succeeded', 'succeeded', 'failed']) });
    } else if (roll < 0.83) fates.push({ kind: 'action', cancels: random.next() < 0.5 });
    else if (roll < 0.88) fates.push({ kind: 'refused' });
    else fates.push({ kind: 'remembered', moved: random.next() < 0.5 });
  }
  return fates;
}

type Shape = Omit<Plan, 'faults'>;
type Unnumbered = Fault extends infer One ? (One extends Fault ? Omit<One, 'number'> : never) : never;

function faultsOf(random: SeededRandom, plan: Shape): Fault[] {
  const count = 1 + Math.floor(random.gap(5));
  const faults = Array.from({ length: Math.min(count, 20) }, () => faultOf(random, plan));
  return faults.toSorted((one, other) => one.at - other.at).map((fault, number) => ({ ...fault, number }));
}

/** How long something lasts: mostly seconds, sometimes hours. */
function lengthOf(random: SeededRandom): number {
  return random.pick([
    random.between(1_000, 20_000),
    random.between(20_000, 2 * minute),
    random.between(2 * minute, 15 * minute),
    random.between(15 * minute, 3 * hour),
  ]);
}

function faultOf(random: SeededRandom, { instances, horizonMs, invoices }: Shape): Unnumbered {
  // Much happens at the beginning, when half of the invoices are due.
  const at = random.next() < 0.5 ? random.between(0, 6 * minute) : random.between(0, horizonMs);
  const host = random.between(0, instances - 1);
  const invoice = random.between(0, invoices.length - 1);
  const service = (): Service => random.pick(services);
  const share = random.pick([0.05, 0.2, 0.5]);
  const ms = lengthOf(random);
  const downMs = random.pick([5_000, 40_000, 5 * minute]);
  const makers: readonly (() => Unnumbered)[] = [
    crash,
    crash,
    crash,
    stall,
    stall,
    () => ({
      at,
      kind: 'stop',
      host,
      graceMs: random.pick([0, 10_000]),
      killMs: random.pick([0, 5_000]),
      downMs,
    }),
    () => ({ at, kind: 'clock', host, byMs: random.pick([-2 * hour, -90_000, 5_000, 90_000, 2 * hour]) }),
    () => ({ at, kind: 'flaky', service: service(), ms, share }),
    () => ({ at, kind: 'flaky', service: random.pick(['cosmos', 'provider', 'serviceBus']), ms, share }),
    () => ({ at, kind: 'outage', service: service(), ms, how: random.pick(['refused', 'silent', 'denied']) }),
    () => ({ at, kind: 'slow', service: service(), ms, factor: random.pick([10, 50, 200]) }),
    () => ({ at, kind: 'rateCut', ms, perSecond: random.pick([0, 1, 5]) }),
    () => ({
      at,
      kind: 'disorder',
      queue: 'serviceBus',
      ms,
      share,
      lateMs: random.pick([2_000, minute, 20 * minute]),
    }),
    () => ({
      at,
      kind: 'disorder',
      queue: 'storageQueue',
      ms,
      share,
      lateMs: random.pick([2_000, minute, hour]),
    }),
    () => ({ at, kind: 'leasesLost' }),
    deployment,
    () => ({ at, kind: 'newerMessage', queue: random.pick(['serviceBus', 'storageQueue']) }),
    operator,
    operator,
    operator,
    () => ({ at, kind: 'reversal', what: random.pick(['refund', 'dispute']), invoice }),
  ];
  return random.pick(makers)();

  function crash(): Unnumbered {
    const target = random.next() < 0.4 ? ('any' as const) : service();
    const when = random.pick(['before', 'after'] as const);
    return { at, kind: 'crash', host, service: target, nth: random.between(1, 12), when, downMs };
  }

  function stall(): Unnumbered {
    return { at, kind: 'stall', host, ms, frozen: random.next() < 0.3 };
  }

  function deployment(): Unnumbered {
    const changes = random.pick([
      { batchSize: 5 },
      { shardGroups: 1 },
      { leaseSeconds: 60 },
      { leaseSeconds: 15, batchSize: 20 },
      { claimStaleSeconds: 600, paymentTimeoutSeconds: 30 },
    ]);
    return { at, kind: 'deployment', changes, everyMs: random.pick([1_000, minute]) };
  }

  function operator(): Unnumbered {
    const action = random.pick(operatorActions);
    return { at, kind: 'operator', action, host, invoice };
  }
}
