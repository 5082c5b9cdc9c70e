import { z } from 'zod';
import { canBeId, isNewer, NewerVersion, tolerantObject } from '../documents/storedDocuments.ts';
import { inSpan } from '../tracing.ts';
import type { Effect, Stage, StageContext } from './stage.ts';

/**
 * Bytes of a resource's id. It is a partition key of Cosmos DB, which takes 2,048
 * (https://learn.microsoft.com/azure/cosmos-db/concepts-limits), and part of a lock's key.
 */
const longestResourceId = 255;

/** A piece of queued work: a stage to run for a resource, with the stage's own `input`. Keeps fields that it does not know. */
export const workItemSchema = tolerantObject({
  /** Absent unless a release sends something that older ones cannot do; see documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  resourceId: z
    .string()
    .min(1)
    .refine((id) => id.isWellFormed() && Buffer.byteLength(id) <= longestResourceId, {
      error: `expected at most ${longestResourceId} bytes of well-formed UTF-8`,
    }),
  stage: partOfId(z.string().min(1)),
  /** Tells apart what a stage does several times for one resource; absent if it does it once. */
  occasion: partOfId(z.string().min(1).max(200)).exactOptional(),
  input: z.record(z.string(), z.json()),
  /** Failed tries, the time of the first, and the time from which it has been refused itself (ISO 8601); absent at first. */
  retry: tolerantObject({
    tries: z.int().min(1),
    since: z.iso.datetime(),
    refusedSince: z.iso.datetime().exactOptional(),
  }).exactOptional(),
});
export type WorkItem = z.infer<typeof workItemSchema>;

/** The effect is recorded under it: if that cannot be found again, every copy of the item repeats the effect. */
function partOfId(text: z.ZodString): z.ZodString {
  return text.refine(canBeId, { error: 'expected no / \\ ? # or %20 and the like, and no blank at the end' });
}

/** JSON bytes of one message: a storage queue takes 64 KB of base64, which is 49,152 bytes. */
const mostBytes = 48_000;
const frameBytes = Buffer.byteLength(JSON.stringify({ traceparent: '-'.repeat(55), items: [] }));
const severalSchema = z.object({ items: z.array(z.unknown()).min(1) });

/**
 * The messages that carry these work items, the same each time: as many of one stage as a message holds, `{items}`, one that is
 * alone as it is; and the `traceparent` of their trace.
 */
export function workItemMessages(items: readonly unknown[], traceparent?: string): unknown[] {
  const trace = traceparent === undefined ? {} : { traceparent };
  const byStage = Map.groupBy(items, (item) =>
    typeof item === 'object' && item !== null && 'stage' in item ? item.stage : undefined,
  );
  return [...byStage.values()].flatMap((ofStage) =>
    portions(ofStage).map((some) =>
      some.length > 1 ? { items: some, ...trace } : withTrace(some[0], traceparent),
    ),
  );
}

/** The work items of a message of several, each still to be read; undefined if the message is something else. */
export function itemsOf(message: unknown): readonly unknown[] | undefined {
  return isNewer(message) ? undefined : severalSchema.safeParse(message).data?.items;
}

function portions(items: readonly unknown[]): unknown[][] {
  const all: unknown[][] = [];
  let bytes = 0;
  for (const item of items) {
    // One more for the comma.
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    bytes += size;
    const last = all.at(-1);
    if (last !== undefined && bytes <= mostBytes - frameBytes) last.push(item);
    else {
      all.push([item]);
      bytes = size;
    }
  }
  return all;
}

/** The name under which the effect of a work item is recorded, unique for its resource. */
export function effectName({ stage, occasion }: Pick<WorkItem, 'stage' | 'occasion'>): string {
  return occasion === undefined ? stage : `${stage}:${occasion}`;
}

/** A message that no retry can help: it ends in the poison queue, with this as its reason. */
export class WorkItemRefused extends Error {
  override readonly name = 'WorkItemRefused';
}

export interface ReadWorkItem {
  item: WorkItem;
  stage: Stage;
  /** Of the stage, checked. */
  input: unknown;
}

/**
 * The work item that a message is, and its stage. @throws {WorkItemRefused} with the reason; {NewerVersion} a newer release
 * sent it
 */
export function readWorkItem(stages: readonly Stage[], message: unknown): ReadWorkItem {
  if (isNewer(message)) throw new NewerVersion('a work item');
  if (typeof message === 'string')
    throw new WorkItemRefused('not a work item: expected object, as base64 of JSON, got some other text');
  const parsed = workItemSchema.safeParse(message);
  if (!parsed.success)
    throw new WorkItemRefused(`not a work item: ${parsed.error.issues.map(describe).join('; ')}`);
  const { stage: name, input } = parsed.data;
  const stage = stages.find((candidate) => candidate.name === name);
  if (stage === undefined) {
    const known = stages.map((candidate) => candidate.name).join(', ');
    throw new WorkItemRefused(`stage: expected one of ${known}, got ${JSON.stringify(name)}`);
  }
  const checked = stage.input.safeParse(input);
  if (checked.success) return { item: parsed.data, stage, input: checked.data };
  const problems = checked.error.issues.map(({ path, message: why }) => `input.${path.join('.')}: ${why}`);
  throw new WorkItemRefused(`stage ${name}: ${problems.join('; ')}`);
}

function describe({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

/**
 * Declares a stage. Its handler must be idempotent outside: a process can die between the effect and its record. `lease:
 * false`: two processes may even run it at the same moment; then the effects of one message are recorded in one document.
 */
export function defineStage<Input extends z.ZodType>({
  lease = true,
  handle: run,
  ...stage
}: {
  name: string;
  lease?: boolean;
  input: Input;
  handle: (input: z.output<Input>, context: StageContext) => Promise<Effect>;
}): Stage {
  return { ...stage, lease, run };
}

/** The traceparent in a message, of one work item or of several. Undefined if there is none. */
export function traceparentOf(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null || !('traceparent' in message)) return undefined;
  return typeof message.traceparent === 'string' ? message.traceparent : undefined;
}

/** A work item that leaves the message that brought it, with the trace of that message, unless it has one itself. */
export function withTrace(item: unknown, traceparent: string | undefined): unknown {
  if (traceparent === undefined || typeof item !== 'object' || item === null) return item;
  return 'traceparent' in item ? item : { ...item, traceparent };
}

/** Does a work item in a span: of the trace that it carries, or of the active one. */
export function inItemSpan<T>(item: WorkItem, work: () => Promise<T>): Promise<T> {
  const attributes = { 'work_item.stage': item.stage, 'work_item.resource': item.resourceId };
  return inSpan(`work item ${item.stage}`, { attributes, parent: traceparentOf(item) }, work);
}
