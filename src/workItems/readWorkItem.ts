import { isNewer, NewerVersion } from '../documents/storedDocuments.ts';
import type { Stage } from './defineStage.ts';
import { type WorkItem, workItemSchema } from './workItem.ts';

/** A message that no retry can help: it ends in the poison queue, with this as its reason. */
export class WorkItemRefused extends Error {
  override readonly name = 'WorkItemRefused';
}

/**
 * The work item that a message is, and its stage.
 *
 * @throws {WorkItemRefused} naming what is wrong with it
 * @throws {NewerVersion} a newer release sent it
 */
export function readWorkItem(stages: readonly Stage[], message: unknown): { item: WorkItem; stage: Stage } {
  if (isNewer(message)) throw new NewerVersion('a work item');
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
