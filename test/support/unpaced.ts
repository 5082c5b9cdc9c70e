import pLimit from 'p-limit';
import { type Clock, systemClock } from '../../packages/leases/src/clock.ts';
import type { PacedProvider, PaymentProvider } from '../../src/paying/paymentProvider.ts';

/** Names the payments of tests. */
const deployment = 'tests';

/**
 * A provider whose calls have their turn at once, but no more than `atOnce` at the same time; their window still ends. Calls
 * that are refused because there are too many are not expected.
 */
export function unpaced(
  provider: PaymentProvider,
  { clock = systemClock, atOnce = 64 }: { clock?: Clock; atOnce?: number } = {},
): PacedProvider {
  const limit = pLimit(atOnce);
  return {
    admit: async () => ({ [Symbol.dispose]() {} }),
    within({ before, mayCall = () => true }) {
      const inTurn = <T extends { kind: string }>(call: () => Promise<T>) =>
        limit(async () => {
          if (clock.monotonic() >= before || !mayCall()) return { kind: 'notCalled' } as const;
          const outcome = await call();
          if (outcome.kind === 'rateLimited')
            throw new Error('there is no pace here that could follow a 429');
          return outcome as Exclude<T, { kind: 'rateLimited' }>;
        });
      return {
        charge: (request) => inTurn(() => provider.charge({ ...request, deployment })),
        find: (sought) => inTurn(() => provider.find({ ...sought, deployment })),
        retrieve: (id) => inTurn(() => provider.retrieve(id, deployment)),
        cancel: (id) => inTurn(() => provider.cancel(id)),
        refund: (request) => inTurn(() => provider.refund(request)),
        defaultMethod: (id) => inTurn(() => provider.defaultMethod(id)),
      };
    },
  };
}
