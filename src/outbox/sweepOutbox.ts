import type { Lease } from '../locking/index.ts';
import { systemClock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { metric, noTelemetry } from '../platform/telemetry.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { OutboxStore } from './outboxStore.ts';

const pageSize = 100;

export interface SweepCounts {
  dispatched: number;
  retried: number;
  parked: number;
}

export interface SweepParts {
  outbox: Pick<OutboxStore, 'due' | 'oldestPending'>;
  dispatcher: Dispatcher;
  /** Default: the system's clock, and no telemetry. */
  instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>>;
}

/**
 * Dispatches what inline dispatch left behind: messages of instances that died, or whose send failed. Ends when nothing is
 * due.
 *
 * @throws {LeaseLost} its lease is gone
 */
export async function sweepOutbox(
  { outbox, dispatcher, instance: { clock = systemClock, telemetry = noTelemetry } = {} }: SweepParts,
  lease: Pick<Lease, 'assertHeld'>,
): Promise<SweepCounts> {
  const counts: SweepCounts = { dispatched: 0, retried: 0, parked: 0 };
  const seen = new Set<string>();
  telemetry.record(metric.outboxOldestMs, await oldestPendingMs(outbox, clock.now()));
  for (;;) {
    lease.assertHeld();
    const now = new Date(clock.now()).toISOString();
    const { messages, more } = await outbox.due({ now, limit: pageSize });
    // A message whose mark failed is still due and comes again: the next sweep has it, or this one would never end.
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

/** How long the oldest message has been waiting to be dispatched at `now`, in milliseconds; 0 if none waits. */
export async function oldestPendingMs(
  outbox: Pick<OutboxStore, 'oldestPending'>,
  now: number,
): Promise<number> {
  const since = await outbox.oldestPending();
  return since === undefined ? 0 : Math.max(0, now - Date.parse(since));
}
