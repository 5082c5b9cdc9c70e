import { z } from 'zod';

/**
 * Durable Task's names and numbers of history events. The SDK takes the numbers; tables and queues hold the
 * names. (durable-functions/lib/src/history/HistoryEventType.js)
 */
const eventNumbers = {
  ExecutionStarted: 0,
  ExecutionCompleted: 1,
  ExecutionTerminated: 3,
  TaskScheduled: 4,
  TaskCompleted: 5,
  TaskFailed: 6,
  SubOrchestrationInstanceCreated: 7,
  SubOrchestrationInstanceCompleted: 8,
  SubOrchestrationInstanceFailed: 9,
  TimerCreated: 10,
  TimerFired: 11,
  OrchestratorStarted: 12,
  OrchestratorCompleted: 13,
  EventRaised: 15,
  ExecutionSuspended: 19,
  ExecutionResumed: 20,
} as const;

/** JSON text of a value, or null if there was none. */
const jsonText = z.string().nullable();
const base = {
  /** Task number of what an orchestrator scheduled, -1 for everything else. */
  EventId: z.int(),
  /** ISO 8601, UTC. */
  Timestamp: z.string(),
};
const event = <T extends keyof typeof eventNumbers, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ EventType: z.literal(type), ...base, ...shape });

export const parentInstance = z.object({
  InstanceId: z.string(),
  ExecutionId: z.string(),
  TaskScheduledId: z.int(),
});
export type ParentInstance = z.infer<typeof parentInstance>;

const finalStatus = z.enum(['Completed', 'Failed', 'Terminated']);
export type FinalStatus = z.infer<typeof finalStatus>;

/** Events from clients carry a `MessageId`, which tells a redelivered event from two equal ones. */
export const historyEvent = z.discriminatedUnion('EventType', [
  event('ExecutionStarted', {
    Name: z.string(),
    Version: z.string().nullable(),
    Input: jsonText,
    ParentInstance: parentInstance.nullable(),
  }),
  event('ExecutionCompleted', { OrchestrationStatus: finalStatus, Result: jsonText }),
  event('ExecutionTerminated', { Input: jsonText, MessageId: z.string() }),
  event('ExecutionSuspended', { Input: jsonText, MessageId: z.string() }),
  event('ExecutionResumed', { Input: jsonText, MessageId: z.string() }),
  event('TaskScheduled', { Name: z.string(), Input: jsonText }),
  event('TaskCompleted', { TaskScheduledId: z.int(), Result: jsonText }),
  event('TaskFailed', { TaskScheduledId: z.int(), Reason: z.string(), Details: z.string() }),
  event('SubOrchestrationInstanceCreated', { Name: z.string(), InstanceId: z.string(), Input: jsonText }),
  event('SubOrchestrationInstanceCompleted', { TaskScheduledId: z.int(), Result: jsonText }),
  event('SubOrchestrationInstanceFailed', {
    TaskScheduledId: z.int(),
    Reason: z.string(),
    Details: z.string(),
  }),
  event('TimerCreated', { FireAt: z.string() }),
  event('TimerFired', { TimerId: z.int(), FireAt: z.string() }),
  event('OrchestratorStarted', {}),
  event('OrchestratorCompleted', {}),
  event('EventRaised', { Name: z.string(), Input: jsonText, MessageId: z.string() }),
]);
export type HistoryEvent = z.infer<typeof historyEvent>;
export type EventOf<T extends HistoryEvent['EventType']> = Extract<HistoryEvent, { EventType: T }>;

/** JSON text of what a function returned or was given; `undefined` becomes null, as on the wire. */
export function toJsonText(value: unknown): string {
  return JSON.stringify(
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : (value ?? null),
  );
}

/** The event as the SDK reads it. */
export function forSdk(one: HistoryEvent, isPlayed: boolean): Record<string, unknown> {
  return { ...one, EventType: eventNumbers[one.EventType], IsPlayed: isPlayed };
}
