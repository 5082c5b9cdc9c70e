import type { Clock } from '@payonce/leases/clock';
import { waitAtMost } from './workInFlight.ts';

export { functionBudgetMs, TimeIsUp, timeBudget } from './timeBudget.ts';
export { workInFlight } from './workInFlight.ts';

/** Time for all of a shutdown (ms): the host tells a worker 10 s late and kills it 5 s after that (measured, 4.1037). */
export const stopBudgetMs = 4_000;

/** One thing to do at shutdown. */
export interface StopStep {
  /** When it is over at the latest, in milliseconds since the shutdown began. */
  byMs: number;
  /** `leftMs`: the time until then. */
  run: (leftMs: number) => Promise<unknown>;
}

/** Takes the steps in order. A late one goes on beside the next, a failed one holds nothing up. Never rejects. */
export async function stopInOrder(clock: Clock, steps: readonly StopStep[]): Promise<void> {
  const began = clock.monotonic();
  for (const { byMs, run } of steps) {
    const leftMs = Math.max(0, began + byMs - clock.monotonic());
    await waitAtMost(clock, leftMs, run(leftMs));
  }
}

/** Parts of an app that have to end when it stops. */
export interface Stopping {
  /** Takes no new leases, lets running steps finish, and gives the leases back. */
  locks: { drain(graceMs: number): Promise<void> };
  /** Resolves when running work has ended. */
  work: (withinMs: number) => Promise<void>;
  /** The sender of the messages that the work has left to be sent. */
  sender: { drained(withinMs: number): Promise<void> };
  /** The last metrics; and beside them the last spans, which matter less and delay nothing. */
  sendMetrics: () => Promise<void>;
  cloud: { close(): Promise<void> };
}

/** Time that steps under leases have to finish (ms). Then they lose their leases. */
const stepMs = 1_500;

/**
 * Gives the leases back while payments in flight settle; then sends the follow-ups and the last metrics. Nothing depends on
 * it: whatever is not done within `stopBudgetMs` is done elsewhere, as after a crash.
 */
export function stopApp(clock: Clock, { locks, work, sender, sendMetrics, cloud }: Stopping): Promise<void> {
  return stopInOrder(clock, [
    { byMs: 2_500, run: (leftMs) => Promise.all([locks.drain(stepMs), work(leftMs)]) },
    { byMs: 3_000, run: (leftMs) => sender.drained(leftMs) },
    { byMs: 3_700, run: sendMetrics },
    { byMs: stopBudgetMs, run: () => cloud.close() },
  ]);
}
