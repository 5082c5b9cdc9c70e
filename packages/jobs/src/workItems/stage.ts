import type { z } from 'zod';

/** Context of a stage's handler. */
export interface StageContext {
  resourceId: string;
  /** The work item's; absent for a stage that runs once for a resource. */
  occasion?: string;
  /** Earlier tries of the work item. Absent: none. */
  tries?: number;
  /** Aborts when the lease of the work item is lost or the host stops; never for a stage without a lease. */
  signal: AbortSignal;
  /** Throws once the lease is no longer held for certain: call it before each side effect. Never, without a lease. */
  assertHeld: () => void;
}

/** A stage of queued work. Its effect is recorded, so a message that comes twice takes effect once. */
export interface Stage {
  readonly name: string;
  /** True if it runs under the lease of its work item. */
  readonly lease: boolean;
  /** The schema of its input. */
  readonly input: z.ZodType;
  /** Runs the handler with an input that has been checked; the result is the recorded effect. */
  run(input: unknown, context: StageContext): Promise<Effect>;
}

/** Effect of a stage as it is recorded: small, and enough to find it again. */
export type Effect = Record<string, string | number | boolean>;
