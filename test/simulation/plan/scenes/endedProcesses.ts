/** Processes that die, stop or stand still in the middle of their work. */
import { minute } from '../plan.ts';
import { invoicesOf, type Scenes, second, tick, type Unnumbered } from './scene.ts';

export const endedProcesses = {
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

  /** Each call crashes the process that makes it, for as long as attempts are left; then the provider fails a while. */
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

  /** Virtual machines are frozen again and again while messages of a newer release are sent again. */
  frozenMachines(random) {
    const instances = random.between(2, 3);
    return {
      instances,
      invoices: invoicesOf(random, random.between(1, 5)),
      faults: [
        ...Array.from({ length: 3 }, (): Unnumbered => {
          const at = tick + random.between(0, 5) * minute;
          return {
            kind: 'newerMessage',
            at,
            queue: random.pick(['storageQueue', 'storageQueue', 'serviceBus']),
          };
        }),
        ...Array.from({ length: 30 }, (): Unnumbered => {
          const at = tick + random.between(0, 40 * 60) * second;
          const ms = random.between(20, 100) * second;
          return { kind: 'stall', at, host: random.between(0, instances - 1), ms, frozen: true };
        }),
      ],
    };
  },
} as const satisfies Scenes;
