/**
 * Scenes: plans for what chance seldom brings together, such as a charge whose answer is lost just before the provider is away for
 * a day. What happens is set, when and to whom is not. One seed in twenty is a scene.
 */
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { ChargeFate } from '../world/provider.ts';
import type { Fault, OperatorAction } from './faults.ts';
import { hour, minute, type Plan, type PlannedInvoice, randomOf } from './plan.ts';

type Unnumbered = Fault extends infer One ? (One extends Fault ? Omit<One, 'number'> : never) : never;
type Shape = Omit<Plan, 'seed' | 'faults'>;
type Scene = (random: SeededRandom) => Partial<Shape> & { faults: Unnumbered[] };

const scenesEvery = 20;
const second = 1_000;
/** The first tick of the job, which claims all that is due together. */
const tick = minute;

/** The plan of a seed that is a scene; undefined for the others. */
export function sceneOf(seed: number): Plan | undefined {
  if (seed % scenesEvery !== scenesEvery - 1) return undefined;
  const random = randomOf(seed, 'scene');
  const names = Object.keys(scenes) as (keyof typeof scenes)[];
  const name = names[Math.floor(seed / scenesEvery) % names.length];
  if (name === undefined) return undefined;
  const { faults, ...chosen } = scenes[name](random);
  const usual: Shape = {
    instances: random.pick([1, 2, 3, 5]),
    horizonMs: hour,
    invoices: invoicesOf(random, random.between(5, 30)),
    clockErrorMs: [],
    rate: random.pick([1, 2, 10, 25]),
    shards: random.pick([1, 1, 4]),
    shardGroups: 1,
    batchSize: random.pick([3, 10, 50]),
    claimStaleSeconds: random.pick([60, 300]),
    paymentTimeoutSeconds: 10,
    invoiceEveryMs: tick,
    listsEvents: random.next() < 0.5,
    notifies: random.next() < 0.5,
    searchLagMs: random.pick([second, minute]),
  };
  const plan = { ...usual, ...chosen, seed };
  return {
    ...plan,
    clockErrorMs: Array.from({ length: plan.instances }, () => 0),
    faults: faults
      .toSorted((one, other) => one.at - other.at)
      .map((fault, number): Fault => ({ ...fault, number })),
  };
}

function invoicesOf(
  random: SeededRandom,
  count: number,
  { named = 1, fates = () => [] }: { named?: number; fates?: () => ChargeFate[] } = {},
): PlannedInvoice[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `inv-${n}`,
    customerId: `cus-${n % 5}`,
    amountMinor: 1_000 + n,
    currency: 'EUR',
    dueAt: 0,
    ...(random.next() < named ? { paymentMethod: `pm-${n % 5}` } : {}),
    fates: fates(),
  }));
}

function operators(
  random: SeededRandom,
  count: number,
  actions: readonly OperatorAction[],
  { from, until, invoices }: { from: number; until: number; invoices: number },
): Unnumbered[] {
  return Array.from({ length: count }, () => ({
    kind: 'operator',
    at: random.between(from, until),
    action: random.pick(actions),
    host: 0,
    invoice: random.between(0, invoices - 1),
  }));
}

const scenes = {
  /** Answers are lost, then the provider is away until it has forgotten the keys. */
  oldKeys(random) {
    const begins = tick + random.between(5, 60) * second;
    const ms = random.between(20, 80) * second;
    return {
      horizonMs: 30 * hour,
      instances: random.pick([1, 2]),
      invoices: invoicesOf(random, random.between(3, 8)),
      listsEvents: false,
      faults: [
        { kind: 'flaky', at: tick - second, service: 'provider', ms, share: 0.7 },
        {
          kind: 'outage',
          at: begins,
          service: 'provider',
          ms: Math.round(random.between(2_440, 2_800) * 0.01 * hour),
          how: random.pick(['refused', 'silent', 'denied']),
        },
      ],
    };
  },

  /** Many outcomes stay unknown until their attempts are used up; then people decide. */
  unclear(random) {
    const invoices = random.between(40, 90);
    return {
      rate: 25,
      invoices: invoicesOf(random, invoices, { fates: () => remembered(random) }),
      faults: [
        { kind: 'flaky', at: tick - second, service: 'provider', ms: 15 * minute, share: 0.6 },
        { kind: 'flaky', at: 12 * minute, service: 'cosmos', ms: 10 * minute, share: 0.2 },
        ...operators(random, 40, ['retry', 'retryNotCharged', 'retryMethod', 'void'], {
          from: 3 * minute,
          until: 20 * minute,
          invoices,
        }),
      ],
    };
  },

  /** People void, retry and move what is being claimed and paid at that moment, in a store that is slow. */
  atThatMoment(random) {
    const invoices = random.between(3, 12);
    const fates = (): ChargeFate[] => (random.next() < 0.5 ? [{ kind: 'declined', severity: 'hard' }] : []);
    return {
      invoices: invoicesOf(random, invoices, { fates }),
      faults: [
        {
          kind: 'slow',
          at: tick - 2 * second,
          service: 'cosmos',
          ms: minute,
          factor: random.pick([10, 50]),
        },
        ...operators(random, 30, ['void', 'retry', 'retryMethod', 'moveDueDate'], {
          from: tick - 2 * second,
          until: tick + 20 * second,
          invoices,
        }),
      ],
    };
  },

  /** A process stands still with a call on its way; the second delivery of its message fails; people void meanwhile. */
  callOnItsWay(random) {
    const invoices = random.between(1, 3);
    const ms = random.between(50, 59) * second;
    const begins = tick - second;
    return {
      instances: random.between(2, 4),
      rate: 25,
      invoices: invoicesOf(random, invoices),
      faults: [
        { kind: 'disorder', at: begins, queue: 'serviceBus', ms: 5 * second, share: 0.9, lateMs: 300 },
        {
          kind: 'hang',
          at: begins,
          service: 'provider',
          nth: random.between(2, 3),
          when: 'before',
          ms,
          frozen: false,
        },
        {
          kind: 'flaky',
          at: tick + random.between(100, 700),
          service: 'provider',
          ms: 9 * second,
          share: 0.9,
        },
        ...operators(random, 20, ['void', 'retryNotCharged'], {
          from: tick + 10 * second,
          until: tick + 45 * second,
          invoices,
        }),
      ],
    };
  },

  /** Many receipts in one message, while storage and its queue fail and processes die. */
  receipts(random) {
    const begins = tick + random.between(0, 5) * second;
    return {
      rate: 25,
      batchSize: 50,
      shards: 1,
      notifies: true,
      invoices: invoicesOf(random, random.between(20, 60)),
      faults: [
        { kind: 'flaky', at: begins, service: 'blobs', ms: random.between(5, 90) * second, share: 0.4 },
        {
          kind: 'disorder',
          at: tick,
          queue: 'storageQueue',
          ms: 5 * minute,
          share: 0.6,
          lateMs: 20 * second,
        },
        ...Array.from({ length: 4 }, (): Unnumbered => {
          const when = random.pick(['before', 'after'] as const);
          const service = random.pick(['storageQueue', 'blobs', 'cosmos'] as const);
          const at = begins + random.between(1, 20) * second;
          return { kind: 'crash', at, service, nth: random.between(1, 12), when, downMs: 5 * second };
        }),
      ],
    };
  },

  /** Customers change their default method; a process dies with it, and then the provider fails. */
  methodOfTheDead(random) {
    const at = 180 * second;
    const invoices = random.between(1, 4);
    const nth = random.between(invoices + 2, 2 * invoices + 1);
    return {
      ...withoutMethod(random, { at, invoices }),
      faults: [
        { kind: 'flaky', at, service: 'cosmos', ms: 5 * second, share: random.pick([0, 0.3]) },
        { kind: 'crash', at, service: 'provider', nth, when: 'after', downMs: 5_000 },
        { kind: 'flaky', at: at + 20 * second, service: 'provider', ms: 2 * minute, share: 0.5 },
      ],
    };
  },

  /** The same, and two deliveries ask for it at once while the provider is slow and fails. */
  methodAskedTwice(random) {
    const at = 180 * second;
    const invoices = random.between(1, 4);
    const ms = random.between(4, 10) * second;
    const fails = at + random.between(1, 5) * second;
    return {
      ...withoutMethod(random, { at, invoices }),
      faults: [
        {
          kind: 'disorder',
          at: at - second,
          queue: 'serviceBus',
          ms: 10 * second,
          share: 0.9,
          lateMs: 4 * second,
        },
        { kind: 'slow', at, service: 'provider', ms, factor: 40 },
        { kind: 'flaky', at: fails, service: 'provider', ms: 12 * second, share: 0.6 },
      ],
    };
  },

  /** Deliveries side by side that have to stop: locks are lost, processes end, turns come late. */
  givenBack(random) {
    const instances = random.between(2, 5);
    return {
      instances,
      rate: random.pick([1, 2]),
      batchSize: 10,
      invoices: invoicesOf(random, random.between(10, 30), { named: random.pick([0, 0.5]) }),
      faults: [
        {
          kind: 'disorder',
          at: tick - second,
          queue: 'serviceBus',
          ms: 10 * minute,
          share: 0.7,
          lateMs: 20 * second,
        },
        { kind: 'flaky', at: tick, service: 'serviceBus', ms: 3 * minute, share: 0.4 },
        { kind: 'flaky', at: tick, service: 'cosmos', ms: 4 * minute, share: random.pick([0.05, 0.3, 0.6]) },
        ...Array.from({ length: 3 }, (): Unnumbered => {
          const at = tick + random.between(0, 60) * second;
          return {
            kind: 'crash',
            at,
            service: 'provider',
            nth: random.between(1, 8),
            when: 'after',
            downMs: 5_000,
          };
        }),
        ...Array.from({ length: 8 }, (): Unnumbered => {
          const at = tick + random.between(1, 150) * second;
          return {
            kind: 'stop',
            at,
            host: random.between(0, instances - 1),
            graceMs: 0,
            killMs: 5_000,
            downMs: 5_000,
          };
        }),
        ...Array.from({ length: 4 }, (): Unnumbered => {
          const at = tick + random.between(0, 60) * second;
          const ms = random.between(20, 100) * second;
          return {
            kind: 'hang',
            at,
            service: 'any',
            nth: random.between(1, 40),
            when: 'after',
            ms,
            frozen: false,
          };
        }),
      ],
    };
  },

  /** Each call ends the process that makes it, for as long as attempts are left; then the provider fails a while. */
  endsTheProcess(random) {
    return {
      instances: random.between(1, 3),
      rate: 25,
      claimStaleSeconds: 60,
      batchSize: random.pick([3, 10]),
      invoices: invoicesOf(random, random.between(4, 20)),
      faults: [
        ...Array.from({ length: random.between(8, 40) }, (_, n): Unnumbered => {
          const when = random.pick(['before', 'after'] as const);
          const at = tick - second + n * random.between(5, 25) * second;
          return {
            kind: 'crash',
            at,
            service: 'provider',
            nth: random.between(1, 3),
            when,
            downMs: 5 * second,
          };
        }),
        { kind: 'flaky', at: 3 * minute, service: 'provider', ms: 10 * minute, share: 0.3 },
      ],
    };
  },

  /** A pause in the middle of the claims, and a store that is slow and then silent. */
  pausedClaims(random) {
    const at = tick + random.between(500, 15_000);
    const silentMs = random.between(8, 14) * second;
    return {
      instances: random.between(1, 3),
      rate: random.pick([2, 10]),
      batchSize: 10,
      claimStaleSeconds: 300,
      invoices: invoicesOf(random, random.between(60, 100)),
      faults: [
        { kind: 'slow', at: tick - second, service: 'cosmos', ms: minute, factor: random.pick([10, 30]) },
        { kind: 'operator', at, action: 'pause', host: 0, invoice: 0 },
        {
          kind: 'outage',
          at: at + random.between(200, 1_500),
          service: 'cosmos',
          ms: silentMs,
          how: random.pick(['silent', 'refused']),
        },
      ],
    };
  },

  /** A pause while calls wait for another turn, and the store is away. */
  pausedCalls(random) {
    const at = tick + random.between(1, 15) * second;
    return {
      instances: random.between(1, 3),
      rate: random.pick([1, 2]),
      batchSize: 10,
      claimStaleSeconds: 300,
      invoices: invoicesOf(random, random.between(30, 60)),
      faults: [
        { kind: 'rateCut', at: at - 2 * second, ms: 40 * second, perSecond: 0 },
        { kind: 'operator', at, action: 'pause', host: 0, invoice: 0 },
        ...(random.next() < 0.3
          ? []
          : [{ kind: 'outage', at: at + 300, service: 'cosmos', ms: 40 * second, how: 'silent' } as const]),
      ],
    };
  },

  /** A pause while a process stands still with its first question to the provider. */
  pausedQuestion(random) {
    return {
      instances: random.between(2, 4),
      rate: random.pick([2, 25]),
      claimStaleSeconds: 300,
      invoices: invoicesOf(random, random.between(3, 30)),
      faults: [
        {
          kind: 'hang',
          at: tick - second,
          service: 'provider',
          nth: 1,
          when: random.pick(['before', 'after']),
          ms: random.between(16, 50) * second,
          frozen: false,
        },
        { kind: 'operator', at: tick + random.between(500, 3_000), action: 'pause', host: 0, invoice: 0 },
      ],
    };
  },

  /** Wall clocks are set back, and then payments are paused, or a process stands still for longer than its locks last. */
  clocksSetBack(random) {
    const at = tick + random.between(500, 8_000);
    const instances = random.between(1, 3);
    const ms = random.between(62, 110) * second;
    const next: Unnumbered = random.pick([
      { kind: 'operator', at, action: 'pause', host: 0, invoice: 0 },
      { kind: 'hang', at, service: 'provider', nth: random.between(1, 6), when: 'after', ms, frozen: false },
      { kind: 'hang', at, service: 'cosmos', nth: random.between(1, 30), when: 'after', ms, frozen: false },
    ]);
    return {
      instances,
      rate: random.pick([1, 2]),
      batchSize: 10,
      claimStaleSeconds: 300,
      invoices: invoicesOf(random, random.between(60, 100)),
      faults: [
        ...Array.from({ length: instances }, (_, host): Unnumbered => {
          const byMs = random.pick([-90 * second, -2 * hour]);
          return { kind: 'clock', at: at - random.between(0, 1_500), host, byMs };
        }),
        next,
      ],
    };
  },

  /** For a while the provider takes no call at all: no turn comes. */
  noTurns(random) {
    const ms = random.between(10, 40) * minute;
    return {
      claimStaleSeconds: 60,
      paymentTimeoutSeconds: 18,
      invoices: invoicesOf(random, random.between(3, 12)),
      faults: [{ kind: 'rateCut', at: tick - 2 * second, ms, perSecond: 0 }],
    };
  },

  /** Much to pay, slowly, in several groups, and nothing goes wrong. */
  groups(random) {
    return {
      instances: random.between(2, 6),
      rate: random.pick([1, 2]),
      shards: random.pick([4, 16]),
      shardGroups: 4,
      batchSize: 50,
      claimStaleSeconds: 60,
      paymentTimeoutSeconds: 18,
      invoices: invoicesOf(random, 100),
      faults: [],
    };
  },
} as const satisfies Record<string, Scene>;

/** Invoices whose customer's default method is charged: customers choose another one 20 s after the first claim. */
function withoutMethod(random: SeededRandom, { at, invoices }: { at: number; invoices: number }) {
  return {
    instances: random.between(2, 4),
    rate: 10,
    batchSize: 10,
    shards: 1,
    invoices: invoicesOf(random, invoices, { named: 0 }).map((one) => ({ ...one, dueAt: at - 1 })),
  };
}

/** A failure that the provider remembers, whether it has charged or not. */
function remembered(random: SeededRandom): ChargeFate[] {
  return random.next() < 0.2 ? [{ kind: 'remembered', moved: random.next() < 0.5 }] : [];
}
