/** Pauses, and clocks that step back. */
import { hour, minute } from '../plan.ts';
import { invoicesOf, type Scenes, second, tick, type Unnumbered } from './scene.ts';

export const pauses = {
  /** A pause in the middle of the claims, and a store that is slow and then silent. */
  pausedClaims(random) {
    const at = tick + random.between(300, 6_000);
    const ms = random.between(9, 12) * second;
    return {
      instances: random.between(1, 3),
      rate: 10,
      batchSize: 10,
      shards: 4,
      claimStaleSeconds: 300,
      invoices: invoicesOf(random, 100),
      faults: [
        { kind: 'slow', at: tick - second, service: 'cosmos', ms: minute, factor: 20 },
        { kind: 'operator', at, action: 'pause', host: 0, invoice: 0 },
        {
          kind: 'outage',
          at: at + random.between(200, 800),
          service: 'cosmos',
          ms,
          how: 'silent',
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

  /** Wall clocks step back, and then payments are paused, or a process stands still for longer than its locks last. */
  clocksSetBack(random) {
    const at = tick + random.between(500, 8_000);
    const instances = random.between(1, 3);
    const ms = random.between(62, 110) * second;
    const next = random.pick<Unnumbered>([
      { kind: 'operator', at, action: 'pause', host: 0, invoice: 0 },
      { kind: 'hang', at, service: 'provider', nth: random.between(1, 6), when: 'after', ms, frozen: false },
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
} as const satisfies Scenes;
