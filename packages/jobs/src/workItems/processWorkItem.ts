import { type Lease, type Locks, noLease, workItemLockKey } from '@payonce/leases';
import { systemClock } from '@payonce/leases/clock';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { InstanceOptions } from '../instance.ts';
import { inSpan } from '../tracing.ts';
import type { Effects, RecordedEffect } from './effects.ts';
import { countRetried, nextTry, type SendAgain } from './nextTry.ts';
import type { PoisonItems } from './poison.ts';
import { createProcessSeveral } from './processSeveral.ts';
import { sendOnce } from './sendOnce.ts';
import type { Stage } from './stage.ts';
import { traceparentOf, inItemSpan, itemsOf, type ReadWorkItem, readWorkItem } from './workItem.ts';

/**
 * The way of one work item:
 *
 *   tried ──retry later──► sent again (after 10 s … 10 min) ──► tried … for as long as it takes
 *     │  └──refused itself, for a day already──► the queue's last deliveries ──► poison
 *     └──any other failure──► the queue's deliveries ──► poison
 *
 * A message that fails five times within a minute is poison to the queue: right for a bug, wrong for an outage. So an item that
 * cannot be done now is sent again, to appear later, and the received message is done with. A crash between the two leaves two
 * copies, and so does a lost answer: each finds the recorded effect, or waits for the other's lease (sendOnce.ts).
 */

/** Wait for another holder of a work item's lease before the item goes back to the queue (ms). */
const leaseWaitMs = 5_000;

export interface WorkItemParts {
  stages: readonly Stage[];
  effects: Effects;
  locks: Locks;
  sendAgain: SendAgain;
  /** Keeps errors for people who look at a dead letter. Default: nothing does. */
  poison?: Pick<PoisonItems, 'noteFailure'>;
  instance: InstanceOptions;
}

/** `resent`: a newer release sent it, and a process of that release has to do it. */
export type WorkItemOutcome = 'done' | 'doneBefore' | 'retried' | 'resent';

/**
 * Creates the consumer of the queue of work items. It runs a stage only if no effect of the item is recorded and, unless the
 * stage does without, under the item's lease. A message of several is done once all are done or sent again. @throws
 * {WorkItemRefused} it is not a work item, or its stage is unknown; {LockTimeout} the item is being worked on elsewhere; and
 * what its stage throws
 */
export function createProcessWorkItem(parts: WorkItemParts): (message: unknown) => Promise<WorkItemOutcome> {
  const { stages, effects, locks, poison } = parts;
  const { name: by, clock = systemClock, telemetry = noTelemetry } = parts.instance;
  const instance = { name: by, clock, telemetry };
  const sendAgain = sendOnce(parts.sendAgain, clock);
  const processSeveral = createProcessSeveral({ ...parts, sendAgain, instance, once, run });

  return async (message) => {
    try {
      const items = itemsOf(message);
      if (items === undefined) return await processOne(message);
      const start = { attributes: { 'work_item.count': items.length }, parent: traceparentOf(message) };
      return await inSpan('process work items', start, () => processSeveral(message, items));
    } catch (error) {
      // The queue says nothing about why a message failed, so the error is left where the poison record finds it.
      await poison?.noteFailure(message, error).catch(() => {});
      throw error;
    }
  };

  async function processOne(message: unknown): Promise<WorkItemOutcome> {
    try {
      const read = readWorkItem(stages, message);
      return await inItemSpan(read.item, () => once(read));
    } catch (error) {
      const next = nextTry(message, error, { stages, now: clock.now() });
      if (next === undefined) throw error;
      await sendAgain(next.message, next.delayMs);
      if (next.kind === 'retried') countRetried(telemetry, next);
      return next.kind;
    }
  }

  async function once(read: ReadWorkItem): Promise<'done' | 'doneBefore'> {
    const { resourceId, stage: name } = read.item;
    const owner = { instance: by, job: `work-item:${name}` };
    const key = workItemLockKey(resourceId, name);
    await using lease = read.stage.lease
      ? await locks.acquire(key, owner, { waitMs: leaseWaitMs, fenced: false })
      : noLease(key, owner);
    if (await effects.has(read.item)) return 'doneBefore';
    lease.assertHeld();
    await effects.record(read.item, await run(read, lease));
    telemetry.count(partMetric.workItemDone, { stage: name });
    return 'done';
  }

  async function run({ item, stage, input }: ReadWorkItem, lease: Lease): Promise<RecordedEffect> {
    const { resourceId, occasion, retry } = item;
    const effect = await stage.run(input, {
      resourceId,
      tries: retry?.tries ?? 0,
      ...(occasion === undefined ? {} : { occasion }),
      signal: lease.signal,
      assertHeld: () => lease.assertHeld(),
    });
    return { ...effect, at: new Date(clock.now()).toISOString(), by };
  }
}
