/**
 * The faults of a schedule. Each seed enables some kinds of fault and some services only, and aims at some moments: a schedule in
 * which few kinds occur often finds what one in which all kinds occur seldom does not (Groce and others, "Swarm testing", 2012).
 */
import type { SeededRandom } from '../../support/seededRandom.ts';
import { type Fault, operatorActions, type Service, services } from './faults.ts';
import { day, hour, minute, type Plan } from './plan.ts';

type Shape = Omit<Plan, 'faults'>;
type Unnumbered = Fault extends infer One ? (One extends Fault ? Omit<One, 'number'> : never) : never;
type Made = Unnumbered extends infer One ? (One extends Unnumbered ? Omit<One, 'at'> : never) : never;
type Maker = (random: SeededRandom, swarm: Swarm) => Made;

interface Swarm extends Shape {
  /** Those that faults of this schedule meet. */
  services: readonly Service[];
}

const mostFaults = 40;

/** Some are there more than once: more depends on them. */
const weighted: readonly Service[] = [
  ...services,
  'cosmos',
  'cosmos',
  'cosmos',
  'provider',
  'provider',
  'serviceBus',
  'locks',
];

export function faultsOf(random: SeededRandom, plan: Shape): Fault[] {
  const share = random.pick([0.2, 0.5, 0.9]);
  const enabled = someOf(random, makers, share);
  const swarm = { ...plan, services: someOf(random, weighted, random.pick([0.3, 0.9])) };
  const count = 1 + Math.floor(random.gap(random.pick([4, 10, 20])));
  const faults = Array.from({ length: Math.min(count, mostFaults) }, () => {
    const made = random.pick(enabled)(random, swarm);
    return { at: momentOf(random, plan, made.kind), ...made };
  });
  return faults.toSorted((one, other) => one.at - other.at).map((fault, number) => ({ ...fault, number }));
}

/** Each with this chance; one at least. */
function someOf<T>(random: SeededRandom, all: readonly T[], share: number): readonly T[] {
  const some = all.filter(() => random.next() < share);
  return some.length > 0 ? some : [random.pick(all)];
}

/** Most happens right after a tick that claims, and of those most at the first. People may also come days later. */
function momentOf(random: SeededRandom, { horizonMs, invoiceEveryMs }: Shape, kind: Fault['kind']): number {
  const roll = random.next();
  if (kind === 'operator' && roll < 0.3) return random.between(0, roll < 0.15 ? 5 * day : 3 * hour);
  if (roll < 0.55) return invoiceEveryMs + random.between(-500, 8_000);
  if (roll < 0.75) {
    // The twelfth tick may be the end, and then nothing goes wrong any more.
    return Math.min(horizonMs - 1, invoiceEveryMs * random.between(1, 12) + random.between(-500, 8_000));
  }
  return random.between(0, horizonMs);
}

/** Draws a duration (ms): mostly seconds, sometimes hours. */
function lengthOf(random: SeededRandom, { horizonMs }: Shape): number {
  return random.pick([
    random.between(1_000, 20_000),
    random.between(20_000, 2 * minute),
    random.between(2 * minute, 15 * minute),
    random.between(15 * minute, Math.max(3 * hour, horizonMs)),
  ]);
}

/**
 * Draws the time that a machine stands still (ms). It may last beyond the end of faults, so the end waits for
 * it.
 */
function standstillOf(random: SeededRandom, swarm: Swarm): number {
  return Math.min(3 * hour, lengthOf(random, swarm));
}

function shareOf(random: SeededRandom): number {
  return random.pick([0.05, 0.2, 0.5]);
}

function hostOf(random: SeededRandom, { instances }: Shape): number {
  return random.between(0, instances - 1);
}

function invoiceOf(random: SeededRandom, { invoices }: Shape): number {
  return random.between(0, invoices.length - 1);
}

/** A call, by whichever instance makes it or by a certain one. */
function nthCall(random: SeededRandom, swarm: Swarm) {
  return {
    ...(random.next() < 0.7 ? {} : { host: hostOf(random, swarm) }),
    service: random.next() < 0.2 ? ('any' as const) : random.pick(swarm.services),
    nth: random.between(1, random.pick([4, 12, 40])),
  };
}

function downMs(random: SeededRandom): number {
  return random.pick([5_000, 40_000, 5 * minute]);
}

/** While nothing is allowed, all hosts go on asking: hours of that are millions of events, and show no more than one. */
function rateCut(random: SeededRandom, swarm: Swarm): Made {
  const [ms, perSecond] = [lengthOf(random, swarm), random.pick([0, 1, 5])];
  return { kind: 'rateCut', ms: perSecond === 0 ? Math.min(ms, hour) : ms, perSecond };
}

function crash(random: SeededRandom, swarm: Swarm): Made {
  const when = random.pick(['before', 'after'] as const);
  return { kind: 'crash', when, downMs: downMs(random), ...nthCall(random, swarm) };
}

function oneCall(random: SeededRandom, swarm: Swarm): Made {
  const becomes = random.pick(['lost', 'answerLost', 'answerLost', 'refused', 'repeated'] as const);
  return { kind: 'oneCall', becomes, ...nthCall(random, swarm) };
}

function hang(random: SeededRandom, swarm: Swarm): Made {
  const when = random.pick(['before', 'after'] as const);
  return {
    kind: 'hang',
    when,
    ms: standstillOf(random, swarm),
    frozen: random.next() < 0.3,
    ...nthCall(random, swarm),
  };
}

function operator(random: SeededRandom, swarm: Swarm): Made {
  const action = random.pick(operatorActions);
  return { kind: 'operator', action, host: hostOf(random, swarm), invoice: invoiceOf(random, swarm) };
}

function flaky(random: SeededRandom, swarm: Swarm): Made {
  return {
    kind: 'flaky',
    service: random.pick(swarm.services),
    ms: lengthOf(random, swarm),
    share: shareOf(random),
  };
}

/** Some are there more than once: they are more likely. */
const makers: readonly Maker[] = [
  crash,
  crash,
  crash,
  oneCall,
  oneCall,
  oneCall,
  hang,
  hang,
  flaky,
  flaky,
  operator,
  operator,
  operator,
  (random, swarm) => ({
    kind: 'stall',
    host: hostOf(random, swarm),
    ms: standstillOf(random, swarm),
    frozen: random.next() < 0.3,
  }),
  (random, swarm) => ({
    kind: 'stop',
    host: hostOf(random, swarm),
    graceMs: random.pick([0, 10_000]),
    killMs: random.pick([0, 5_000]),
    downMs: downMs(random),
  }),
  (random, swarm) => ({
    kind: 'clock',
    host: hostOf(random, swarm),
    byMs: random.pick([-2 * hour, -90_000, 5_000, 90_000, 2 * hour]),
  }),
  (random, swarm) => ({
    kind: 'outage',
    service: random.pick(swarm.services),
    ms: lengthOf(random, swarm),
    how: random.pick(['refused', 'silent', 'denied']),
  }),
  (random, swarm) => ({
    kind: 'slow',
    service: random.pick(swarm.services),
    ms: lengthOf(random, swarm),
    factor: random.pick([10, 50, 200]),
  }),
  rateCut,
  (random, swarm) => ({
    kind: 'disorder',
    queue: random.pick(['serviceBus', 'serviceBus', 'storageQueue'] as const),
    ms: lengthOf(random, swarm),
    share: shareOf(random),
    lateMs: random.pick([2_000, minute, 20 * minute, hour]),
  }),
  (random, swarm) => ({
    kind: 'leasesLost',
    service: random.pick(['cosmos', 'cosmos', 'locks', 'provider', 'serviceBus', 'storageQueue'] as const),
    nth: nthCall(random, swarm).nth,
  }),
  (random) => ({
    kind: 'deployment',
    changes: random.pick([
      { batchSize: 5 },
      { shardGroups: 1 },
      { leaseSeconds: 60 },
      { leaseSeconds: 15, batchSize: 20 },
      { claimStaleSeconds: 600, paymentTimeoutSeconds: 30 },
    ]),
    everyMs: random.pick([1_000, minute]),
  }),
  (random) => ({ kind: 'newerMessage', queue: random.pick(['serviceBus', 'storageQueue'] as const) }),
  (random, swarm) => ({
    kind: 'reversal',
    what: random.pick(['refund', 'dispute'] as const),
    invoice: invoiceOf(random, swarm),
  }),
];
