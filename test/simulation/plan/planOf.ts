/** The plan of a seed. */
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { ChargeFate } from '../world/provider.ts';
import type { Fault } from './faults.ts';
import { withOutside } from './outside.ts';
import { day, hour, minute, type Plan, type PlannedInvoice, type PlanOptions, randomOf } from './plan.ts';
import { sceneOf } from './scenes/sceneOf.ts';
import { faultsOf } from './swarm.ts';

/** When invoices are due: all at the beginning, half of them, or at any time. */
type Due = 'together' | 'half' | 'spread';

export function planOf(seed: number, options: PlanOptions = {}): Plan {
  const isFree = options.instances === undefined && options.days === undefined;
  return (isFree ? sceneOf(seed) : undefined) ?? withOutside(seed, byChance(seed, options));
}

function byChance(seed: number, options: PlanOptions): Plan {
  const random = randomOf(seed, 'plan');
  const chance = (share: number) => random.next() < share;
  const instances = options.instances ?? random.pick([1, 2, 2, 3, 3, 3, 4, 5, 8, 20]);
  // Mostly an hour; sometimes long enough for keys to grow too old.
  const horizonMs =
    options.days === undefined
      ? random.pick([hour, hour, hour, hour, hour, hour, 6 * hour, 30 * hour])
      : options.days * day;
  // Without faults nothing may be late, claimed twice or left over.
  const calm = chance(0.12);
  const count = Math.min(100, 1 + Math.floor(random.gap(calm ? 40 : 14)));
  const shards = random.pick([1, 1, 4, 16]);
  const claimStaleSeconds = random.pick([60, 300, 300]);
  const plan = {
    seed,
    instances,
    horizonMs: Math.round(horizonMs),
    rate: random.pick(calm ? [1, 2, 25] : [1, 2, 10, 25, 25]),
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
  const due = random.pick(['together', 'half', 'half', 'spread'] as const);
  const fated = calm ? 0 : random.pick([0.1, 0.3, 0.3, 0.6]);
  const named = random.pick([0.8, 0.8, 0.2]);
  const invoices = Array.from({ length: count }, (_, n) =>
    invoiceOf(n, random, { horizonMs, due, fated, named }),
  );
  const faults = calm ? [] : faultsOf(random, { ...plan, invoices });
  return { ...plan, invoices, faults: plan.listsEvents ? withoutQueue(seed, faults) : faults };
}

/**
 * Half of the time, the queue is away when the provider tells of a refund or dispute: at other times it makes no difference
 * to events, and both seldom happen at once by chance.
 */
function withoutQueue(seed: number, faults: readonly Fault[]): readonly Fault[] {
  const random = randomOf(seed, 'events');
  const away = faults.flatMap(({ kind, at }, place): Fault[] => {
    if (kind !== 'reversal' || random.next() < 0.5) return [];
    const ms = random.between(40_000, 5 * minute);
    const number = faults.length + place;
    return [
      { kind: 'outage', service: 'storageQueue', how: 'refused', at: Math.max(0, at - 500), ms, number },
    ];
  });
  return [...faults, ...away].toSorted((one, other) => one.at - other.at);
}

function invoiceOf(
  n: number,
  random: SeededRandom,
  { horizonMs, due, fated, named }: { horizonMs: number; due: Due; fated: number; named: number },
): PlannedInvoice {
  const chance = (share: number) => random.next() < share;
  const customer = random.between(0, 8);
  const hasMethod = chance(named);
  const late = due === 'spread' || (due === 'half' && chance(0.5));
  return {
    id: `inv-${n}`,
    customerId: !hasMethod && chance(0.1) ? `cus-none-${customer}` : `cus-${customer}`,
    amountMinor: 1_000 + n,
    currency: random.pick(['USD', 'EUR', 'JPY']),
    dueAt: late ? random.between(0, Math.round(Math.min(horizonMs, 6 * hour) * 0.7)) : 0,
    ...(hasMethod ? { paymentMethod: `pm-${customer}` } : {}),
    fates: fatesOf(random, fated),
  };
}

/** Draws the fates of the charges of one invoice. */
function fatesOf(random: SeededRandom, share: number): ChargeFate[] {
  const fates: ChargeFate[] = [];
  while (random.next() < share && fates.length < 6) {
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
