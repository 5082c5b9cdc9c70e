/** Calls that wait for their turn. */
import { minute } from '../plan.ts';
import { invoicesOf, type Scenes, second, tick } from './scene.ts';

export const turns = {
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
} as const satisfies Scenes;
