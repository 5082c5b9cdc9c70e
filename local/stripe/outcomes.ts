import type { Charging } from './charging.ts';
import type { Moment } from './moment.ts';
import type { Refunds } from './refunds.ts';
import type { Due } from './store/due.ts';
import type { Store } from './store/index.ts';

/** Settles what is due, each at its own time, in the order of those times. */
export function createOutcomes(
  store: Store,
  { now, charging, refunds }: { now: () => number; charging: Charging; refunds: Refunds },
) {
  function happen({ at, kind, id }: Due): void {
    const moment: Moment = { at, requestId: null, idempotencyKey: null };
    store.due.remove(id);
    if (kind === 'charge') charging.settle(id, moment);
    else refunds.settle(id, kind === 'refundFails' ? 'failed' : 'succeeded', moment);
  }

  return {
    settle(): void {
      const until = now();
      for (let next = store.due.next(); next !== null && next.at <= until; next = store.due.next()) {
        const due = next;
        store.transaction(() => happen(due));
      }
    },
    /** When the next is due, in epoch milliseconds. Undefined: nothing is. */
    nextAt: (): number | undefined => store.due.next()?.at,
  };
}
