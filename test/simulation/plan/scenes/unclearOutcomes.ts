/** Outcomes that nobody knows, and what people and later tries make of them. */
import type { SeededRandom } from '../../../support/seededRandom.ts';
import type { ChargeFate } from '../../world/provider.ts';
import { hour, minute } from '../plan.ts';
import { invoicesOf, operators, type Scenes, second, tick } from './scene.ts';

export const unclearOutcomes = {
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
        { kind: 'flaky', at: tick - second, service: 'provider', ms: 15 * minute, share: 0.7 },
        { kind: 'flaky', at: 12 * minute, service: 'cosmos', ms: 10 * minute, share: 0.2 },
        ...operators(random, 80, ['retry', 'retryNotCharged', 'retryNotCharged', 'retryMethod', 'void'], {
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

  /** A process stands still with a call in flight; the second delivery of its message fails; people void meanwhile. */
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
} as const satisfies Scenes;

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
