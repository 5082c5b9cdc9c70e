import type { z } from 'zod';

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
