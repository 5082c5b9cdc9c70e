import { type Locks, workItemKey } from '../locking/index.ts';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import type { Stage } from './defineStage.ts';
import type { Effects } from './effects.ts';
import { type WorkItem, workItemSchema } from './workItem.ts';

/** How long a work item waits for the one that has the same lease before it goes back to the queue. Milliseconds. */
const leaseWaitMs = 5_000;

/** A message that no try can help: it ends in the poison queue, with this as its reason in the log. */
export class WorkItemRefused extends Error {
  override readonly name = 'WorkItemRefused';
}

export interface WorkItemDependencies {
  stages: readonly Stage[];
  effects: Effects;
  locks: Locks;
  clock: Clock;
  telemetry: Telemetry;
  instance: string;
}

/**
 * Runs the stage that a work item names, once: under the lease `{resourceId}#{stage}`, and only if no effect of it is
 * recorded. A work item whose lease is held elsewhere waits a little and then throws, so that the queue delivers it again.
 *
 * @throws {WorkItemRefused} the message is not a work item, or its stage is unknown
 * @throws {LockTimeout} the same work item is being worked on elsewhere
 */
export async function processWorkItem(
  { stages, effects, locks, clock, telemetry, instance }: WorkItemDependencies,
  message: unknown,
): Promise<'done' | 'doneBefore'> {
  const { item, stage } = readWorkItem(stages, message);
  const { resourceId, stage: name, input, occasion } = item;

  await using lease = await locks.acquire(
    workItemKey(resourceId, name),
    { instance, job: `work-item:${name}` },
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
  await effects.record(item, {
    ...effect,
    at: new Date(clock.now()).toISOString(),
    by: instance,
  });
  telemetry.count(metric.workItemDone, { stage: name });
  return 'done';
}

/** The work item that a message is, and its stage. @throws {WorkItemRefused} naming what is wrong with it */
export function readWorkItem(stages: readonly Stage[], message: unknown): { item: WorkItem; stage: Stage } {
  const parsed = workItemSchema.safeParse(message);
  if (!parsed.success)
    throw new WorkItemRefused(`not a work item: ${parsed.error.issues.map(describe).join('; ')}`);
  const { stage: name, input } = parsed.data;
  const stage = stages.find((candidate) => candidate.name === name);
  if (stage === undefined) {
    const known = stages.map((candidate) => candidate.name).join(', ');
    throw new WorkItemRefused(`stage: expected one of ${known}, got ${JSON.stringify(name)}`);
  }
  const problems = stage.check(input);
  if (problems.length > 0) throw new WorkItemRefused(`stage ${name}: ${problems.join('; ')}`);
  return { item: parsed.data, stage };
}

function describe({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}
