import type { Container } from '@azure/cosmos';
import type { OnUnreadable } from '../documents/readable.ts';
import type { Lease } from '../locking/index.ts';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import type { Dispatcher } from './dispatcher.ts';
import { oldestPendingMs } from './oldestPending.ts';
import { dueOutboxMessages } from './readOutbox.ts';

/** Key of the lease under which the sweeper runs: one sweeper at a time is enough. */
export const sweepLockKey = 'jobs/sweep-outbox';

const pageSize = 100;

export interface SweepCounts {
  dispatched: number;
  retried: number;
  parked: number;
}

/**
 * Dispatches what inline dispatch left behind: messages of instances that died, or whose send failed. Ends when nothing
 * is due, or throws `LeaseLost` when its lease is gone.
 */
export async function sweepOutbox(
  {
    container,
    dispatcher,
    clock,
    telemetry,
    onUnreadable,
  }: {
    container: Container;
    dispatcher: Dispatcher;
    clock: Clock;
    telemetry: Telemetry;
    onUnreadable: OnUnreadable;
  },
  lease: Pick<Lease, 'assertHeld'>,
): Promise<SweepCounts> {
  const counts: SweepCounts = { dispatched: 0, retried: 0, parked: 0 };
  const seen = new Set<string>();
  telemetry.record(metric.outboxOldestMs, await oldestPendingMs(container, clock.now()));
  for (;;) {
    lease.assertHeld();
    const { messages, more } = await dueOutboxMessages(container, {
      now: new Date(clock.now()).toISOString(),
      limit: pageSize,
      onUnreadable,
    });
    // One whose mark failed is due still and comes again: it is left to the next sweep, or this one would never end.
    const fresh = messages.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    const decisions = await Promise.all(
      fresh.map((message) => dispatcher.dispatch(message, () => lease.assertHeld())),
    );
    for (const { kind } of decisions) {
      if (kind === 'dispatched') counts.dispatched++;
      else if (kind === 'retry') counts.retried++;
      else if (kind === 'parked') counts.parked++;
    }
    if (!more || fresh.length === 0) return counts;
  }
}
