/**
 * What becomes of one work item:
 *
 *   tried ──not now──► sent again (after 10 s … 15 min) ──► tried …
 *     │  └──not now, for a day already──► the queue's last deliveries ──► poison
 *     └──any other failure──► the queue's deliveries ──► poison
 *
 * The queue delivers a message that fails five times within a minute and then gives it up. That is right for a bug, and
 * wrong for an outage, which is when a payment has to be looked up or a receiver does not answer. So an item that cannot be
 * done now is sent again, to appear later, and the message at hand is done with. A process that dies between the two leaves
 * two copies: each finds the recorded effect, or waits for the other's lease.
 */
import { StoreAway } from '../documents/storeAway.ts';
import { NewerVersion, putOffMs } from '../documents/storedDocuments.ts';
import { type Locks, workItemLockKey } from '../locking/index.ts';
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import { decidePostponement } from './decidePostponement.ts';
import type { Effects } from './effects.ts';
import { isNotNow } from './notNow.ts';
import type { PoisonItems } from './poison.ts';
import { readWorkItem, type Stage } from './workItem.ts';

/** How long a work item waits for the one that has the same lease before it goes back to the queue, in milliseconds. */
const leaseWaitMs = 5_000;

/** Sends a message to the queue, to appear there after `delayMs` milliseconds. */
export type SendAgain = (message: unknown, delayMs: number) => Promise<void>;

export interface WorkItemParts {
  stages: readonly Stage[];
  effects: Effects;
  locks: Locks;
  sendAgain: SendAgain;
  poison: Pick<PoisonItems, 'noteFailure'>;
  instance: Instance;
}

/** `putOff`: a newer release sent it, and a process of that release has to do it. */
export type WorkItemOutcome = 'done' | 'doneBefore' | 'postponed' | 'putOff';

/**
 * Creates the consumer of the queue of work items. It runs the stage that a work item names, once: under the lease of that
 * item, and only if no effect of it is recorded. If the lease is held elsewhere it waits a little and then rejects, so that
 * the queue delivers the item again.
 *
 * A message rejects with `WorkItemRefused` if it is not a work item or its stage is unknown, with `LockTimeout` if the same
 * item is being worked on elsewhere, and with what its stage throws.
 */
export function createProcessWorkItem(parts: WorkItemParts): (message: unknown) => Promise<WorkItemOutcome> {
  const { stages, effects, locks, sendAgain, poison, instance } = parts;
  const { clock, telemetry } = instance;

  return async (message) => {
    try {
      return await processOrPutOff(message);
    } catch (error) {
      // The queue says nothing about why a message failed, so the error is left where the poison record finds it.
      await poison.noteFailure(message, error).catch(() => {});
      throw error;
    }
  };

  async function processOrPutOff(message: unknown): Promise<WorkItemOutcome> {
    try {
      return await process(message);
    } catch (error) {
      if (error instanceof NewerVersion) {
        await sendAgain(message, putOffMs);
        return 'putOff';
      }
      if (isNotNow(error) && (await postponed(message, error))) return 'postponed';
      throw error;
    }
  }

  async function process(message: unknown): Promise<'done' | 'doneBefore'> {
    const { item, stage } = readWorkItem(stages, message);
    const { resourceId, stage: name, input, occasion } = item;
    await using lease = await locks.acquire(
      workItemLockKey(resourceId, name),
      { instance: instance.name, job: `work-item:${name}` },
      { waitMs: leaseWaitMs, fenced: false, likelyNew: true },
    );
    if (await effects.has(item)) return 'doneBefore';
    lease.assertHeld();
    const effect = await stage.run(input, {
      resourceId,
      ...(occasion === undefined ? {} : { occasion }),
      signal: lease.signal,
      assertHeld: () => lease.assertHeld(),
    });
    const at = new Date(clock.now()).toISOString();
    await effects.record(item, { ...effect, at, by: instance.name });
    telemetry.count(metric.workItemDone, { stage: name });
    return 'done';
  }

  /** False if it has been tried for long enough. */
  async function postponed(message: unknown, error: unknown): Promise<boolean> {
    const { item } = readWorkItem(stages, message);
    const decision = decidePostponement(item.retry, clock.now());
    if (decision.kind === 'giveUp') return false;
    await sendAgain({ ...item, retry: decision.retry }, decision.delayMs);
    const { stage } = item;
    telemetry.count(metric.workItemPostponed, { stage, error: nameOf(error) });
    return true;
  }
}

/** The error of the service behind a store says more than that the store was away. */
function nameOf(error: unknown): string {
  const told = error instanceof StoreAway ? error.cause : error;
  return told instanceof Error ? told.name : 'unknown';
}
