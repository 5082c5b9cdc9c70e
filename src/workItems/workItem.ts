import { z } from 'zod';
import { isNewer, NewerVersion, tolerantObject } from '../documents/storedDocuments.ts';
import type { Stage } from './defineStage.ts';

/**
 * Bytes of a resource's id. It is a partition key of Cosmos DB, which takes 2,048
 * (https://learn.microsoft.com/azure/cosmos-db/concepts-limits), and part of a lock's key.
 */
const longestResourceId = 255;

/**
 * One piece of queued work: a stage to run for a resource. `input` is what the stage's own schema says. Fields that it does
 * not know are kept when the item is sent again.
 */
export const workItemSchema = tolerantObject({
  /** Absent unless a release sends something that older ones cannot do; see documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  resourceId: z
    .string()
    .min(1)
    .refine((id) => id.isWellFormed() && Buffer.byteLength(id) <= longestResourceId, {
      error: `expected at most ${longestResourceId} bytes of well-formed UTF-8`,
    }),
  stage: z.string().min(1),
  /** Tells apart what a stage does several times for one resource; absent if it does it once. */
  occasion: z.string().min(1).max(200).exactOptional(),
  input: z.record(z.string(), z.json()),
  /** How often it could not be done yet, and since when (ISO 8601); absent at first. */
  retry: tolerantObject({ tries: z.int().min(1), since: z.iso.datetime() }).exactOptional(),
});
export type WorkItem = z.infer<typeof workItemSchema>;

/** The text of a work item without its history of retries; any other text as it is. */
export function afresh(text: string): string {
  const parsed = workItemSchema.safeParse(jsonOf(text));
  if (!parsed.success) return text;
  const { retry: _, ...item } = parsed.data;
  return JSON.stringify(item);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The name under which the effect of a work item is recorded, unique for its resource. */
export function effectName({ stage, occasion }: Pick<WorkItem, 'stage' | 'occasion'>): string {
  return occasion === undefined ? stage : `${stage}:${occasion}`;
}

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
