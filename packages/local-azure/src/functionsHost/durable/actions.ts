import { z } from 'zod';

/**
 * Result of an orchestrator through durable-functions 3.5: all actions it has taken since the start of its
 * history, one per `yield`. (durable-functions/lib/src/actions, orchestrations/OrchestratorState.js)
 */
const retryOptions = z.looseObject({
  /** Milliseconds. */
  firstRetryIntervalInMilliseconds: z.number().positive(),
  maxNumberOfAttempts: z.int().min(1),
  backoffCoefficient: z.number().default(1),
  maxRetryIntervalInMilliseconds: z.number().positive().optional(),
  retryTimeoutInMilliseconds: z.number().optional(),
});
export type RetryOptions = z.output<typeof retryOptions>;

const callActivity = z.object({
  actionType: z.literal(0),
  functionName: z.string(),
  input: z.unknown().optional(),
});
const callSubOrchestrator = z.object({
  actionType: z.literal(2),
  functionName: z.string(),
  instanceId: z.string().nullish(),
  input: z.unknown().optional(),
});
const simpleActions = [
  callActivity,
  callActivity.extend({ actionType: z.literal(1), retryOptions }),
  callSubOrchestrator,
  callSubOrchestrator.extend({ actionType: z.literal(3), retryOptions }),
  z.object({ actionType: z.literal(4), input: z.unknown().optional() }),
  z.object({ actionType: z.literal(5), fireAt: z.iso.datetime(), isCanceled: z.boolean() }),
  z.object({ actionType: z.literal(6), externalEventName: z.string() }),
  z.object({ actionType: z.literal([7, 8, 9, 13, 14]) }),
] as const;
export type SimpleAction = z.output<(typeof simpleActions)[number]>;
export type Action = SimpleAction | { actionType: 11 | 12; compoundActions: Action[] };

const action: z.ZodType<Action> = z.lazy(() =>
  z.discriminatedUnion('actionType', [
    ...simpleActions,
    z.object({ actionType: z.literal([11, 12]), compoundActions: z.array(action) }),
  ]),
);

/** Actions this engine does not support. An orchestration that takes one fails with this name. */
export const unsupportedActions: Record<number, string> = {
  7: 'callEntity',
  8: 'callHttp',
  9: 'signalEntity',
  13: 'lock (entities)',
  14: 'lock (entities)',
};

const orchestratorState = z.object({
  isDone: z.boolean(),
  actions: z.array(z.array(action)).max(1),
  output: z.unknown().optional(),
  error: z.string().optional(),
  customStatus: z.unknown().optional(),
  schemaVersion: z.int().min(1, 'schema version 0 is not supported'),
});
export type OrchestratorState = z.output<typeof orchestratorState>;

/** Parses what an orchestrator function returned: an object or its JSON text. */
export function readOrchestratorState(returned: unknown): OrchestratorState {
  return orchestratorState.parse(typeof returned === 'string' ? JSON.parse(returned) : returned);
}

const failureLabel = '$OutOfProcData$:';

/** The state that the SDK appends to the message of an orchestrator's error, if any. */
export function readFailureState(message: string): OrchestratorState | undefined {
  const at = message.lastIndexOf(failureLabel);
  return at < 0 ? undefined : readOrchestratorState(message.slice(at + failureLabel.length));
}
