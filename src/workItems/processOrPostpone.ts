/**
 * The queue delivers a message that fails five times within a minute and then gives it up. That is right for a bug, and
 * wrong for an outage, which is when a payment has to be looked up or a receiver does not answer. So a work item that
 * cannot be done now is sent again, to appear later, and the message at hand is done with:
 *
 *   tried ──not now──► sent again (after 10 s … 15 min) ──► tried …
 *     │  └──not now, for a day already──► the queue's last deliveries ──► poison
 *     └──any other failure──► the queue's deliveries ──► poison
 *
 * A process that dies between the two leaves two copies. Each finds the recorded effect, or waits for the other's lease.
 */
import { metric } from '../platform/telemetry.ts';
import { decidePostponement } from './decidePostponement.ts';
import { isNotNow } from './notNow.ts';
import { processWorkItem, readWorkItem, type WorkItemDependencies } from './processWorkItem.ts';
import type { WorkItem } from './workItem.ts';

/** Sends a work item to the queue, to appear there after `delayMs` milliseconds. */
export type SendAgain = (item: WorkItem, delayMs: number) => Promise<void>;

/** Does a work item, or sends it again for later. @throws what `processWorkItem` throws, where later is of no use */
export async function processOrPostpone(
  dependencies: WorkItemDependencies & { sendAgain: SendAgain },
  message: unknown,
): Promise<'done' | 'doneBefore' | 'postponed'> {
  try {
    return await processWorkItem(dependencies, message);
  } catch (error) {
    if (!isNotNow(error)) throw error;
    const { stages, clock, telemetry, sendAgain } = dependencies;
    const { item } = readWorkItem(stages, message);
    const decision = decidePostponement(item.retry, clock.now());
    if (decision.kind === 'giveUp') throw error;
    await sendAgain({ ...item, retry: decision.retry }, decision.delayMs);
    telemetry.count(metric.workItemPostponed, {
      stage: item.stage,
      error: error instanceof Error ? error.name : 'unknown',
    });
    return 'postponed';
  }
}
