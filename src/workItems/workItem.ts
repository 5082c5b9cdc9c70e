import { z } from 'zod';
import { isNewer, NewerVersion, tolerantObject } from '../documents/storedDocuments.ts';

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

/** What a stage's handler gets besides its input. */
export interface StageContext {
  resourceId: string;
  /** The work item's; absent for a stage that runs once for a resource. */
  occasion?: string;
  /** Aborts when the lease of the work item is lost, or the host stops. */
  signal: AbortSignal;
  /** Throws once the lease is no longer held for certain: call it before each side effect. */
  assertHeld: () => void;
}

/** A stage of queued work. Its effect is recorded, so a message that comes twice takes effect once. */
export interface Stage {
  readonly name: string;
  /** Parses the input and runs the handler; the result is the recorded effect. */
  run(input: unknown, context: StageContext): Promise<Effect>;
  /** Whether the input is what the stage takes; the problems in words, one per field. */
  check(input: unknown): string[];
}

/** What a stage has done, as it is recorded: small, and enough to find it again. */
export type Effect = Record<string, string | number | boolean>;

/**
 * Declares a stage. The handler must be idempotent in what it does outside (a name, an idempotency key): a process can
 * die after the effect and before its record.
 */
export function defineStage<Input extends z.ZodType>(stage: {
  name: string;
  input: Input;
  handle(input: z.output<Input>, context: StageContext): Promise<Effect>;
}): Stage {
  return {
    name: stage.name,
    run: async (input, context) => stage.handle(stage.input.parse(input), context),
    check(input) {
      const parsed = stage.input.safeParse(input);
      if (parsed.success) return [];
      return parsed.error.issues.map(({ path, message }) => `input.${path.join('.')}: ${message}`);
    },
  };
}
