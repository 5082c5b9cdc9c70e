import pLimit from 'p-limit';
import { z } from 'zod';
import { type EventOf, type HistoryEvent, historyEvent, type ParentInstance } from './events.ts';
import type { LargeTexts } from './largeText.ts';
import { partitionOf, type TaskHub } from './taskHub.ts';

/** An event for an instance (control queue), or a TaskScheduled for an activity (work items). */
const taskMessage = z.object({
  Event: historyEvent,
  /** ExecutionId is null if sent by a client: for whichever execution runs under the instance id. */
  OrchestrationInstance: z.object({ InstanceId: z.string(), ExecutionId: z.string().nullable() }),
});
export type TaskMessage = z.infer<typeof taskMessage>;

const envelope = z.union([
  z.object({ TaskMessage: taskMessage }),
  z.object({ CompressedBlobName: z.string() }),
]);

/** A queue message holds 64 KiB; the remainder is left for XML escapes. */
const maximumBytes = 45 * 1024;

export interface MessageSender {
  toInstance(message: TaskMessage): Promise<void>;
  toActivity(message: TaskMessage): Promise<void>;
}

/** @param sent called for each message, so that this host need not wait for its next poll */
export function messageSender(
  hub: TaskHub,
  large: LargeTexts,
  sent: (target: { partition: number } | 'workItems') => void,
): MessageSender {
  async function encode(message: TaskMessage): Promise<string> {
    // Queue messages travel as XML, which cannot hold these two characters even escaped.
    const text = JSON.stringify({ TaskMessage: message }).replace(
      /[\ufffe\uffff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16)}`,
    );
    if (Buffer.byteLength(text) <= maximumBytes) return text;
    const name = await large.put(message.OrchestrationInstance.InstanceId, text);
    return JSON.stringify({ CompressedBlobName: name });
  }
  const forever = { messageTimeToLive: -1 };
  return {
    async toInstance(message) {
      const partition = partitionOf(message.OrchestrationInstance.InstanceId, hub.controlQueues.length);
      // Whole seconds only, rounded down; the receiver waits out the rest.
      const delay =
        message.Event.EventType === 'TimerFired'
          ? Math.max(0, Math.floor((Date.parse(message.Event.FireAt) - Date.now()) / 1000))
          : 0;
      await hub.controlQueues[partition]?.sendMessage(await encode(message), {
        ...forever,
        visibilityTimeout: delay,
      });
      if (delay === 0) sent({ partition });
    },
    async toActivity(message) {
      await hub.workItems.sendMessage(await encode(message), forever);
      sent('workItems');
    },
  };
}

export async function decodeMessage(text: string, large: LargeTexts): Promise<TaskMessage> {
  const parsed = envelope.parse(JSON.parse(text));
  if ('TaskMessage' in parsed) return parsed.TaskMessage;
  const whole = envelope.parse(JSON.parse(await large.get(parsed.CompressedBlobName)));
  if ('TaskMessage' in whole) return whole.TaskMessage;
  throw new Error(`the large message ${parsed.CompressedBlobName} holds no task message`);
}

/**
 * Sends the messages of a committed episode. They follow from the events alone, so a host that finds an
 * episode committed but not published sends the same ones again; receivers drop duplicates.
 */
export async function sendMessagesOf(
  episode: HistoryEvent[],
  instance: { InstanceId: string; ExecutionId: string; parent: ParentInstance | null },
  send: MessageSender,
): Promise<void> {
  const self = { InstanceId: instance.InstanceId, ExecutionId: instance.ExecutionId };
  const sending = pLimit(16);
  await sending.map(episode, async (event) => {
    if (event.EventType === 'TaskScheduled') {
      await send.toActivity({ Event: event, OrchestrationInstance: self });
    } else if (event.EventType === 'TimerCreated') {
      await send.toInstance(timerFired(event, self));
    } else if (event.EventType === 'SubOrchestrationInstanceCreated') {
      await send.toInstance(childStart(event, self));
    } else if (event.EventType === 'ExecutionCompleted' && instance.parent !== null) {
      await send.toInstance(answerToParent(event, instance.parent));
    }
  });
}

function timerFired(
  { EventId, FireAt, Timestamp }: EventOf<'TimerCreated'>,
  OrchestrationInstance: TaskMessage['OrchestrationInstance'],
): TaskMessage {
  return {
    Event: { EventType: 'TimerFired', EventId: -1, Timestamp, TimerId: EventId, FireAt },
    OrchestrationInstance,
  };
}

function childStart(
  event: EventOf<'SubOrchestrationInstanceCreated'>,
  parent: { InstanceId: string; ExecutionId: string },
): TaskMessage {
  return {
    Event: {
      EventType: 'ExecutionStarted',
      EventId: -1,
      Timestamp: event.Timestamp,
      Name: event.Name,
      Version: null,
      Input: event.Input,
      ParentInstance: { ...parent, TaskScheduledId: event.EventId },
    },
    // The same every time this message is sent, so that the child is not started twice.
    OrchestrationInstance: {
      InstanceId: event.InstanceId,
      ExecutionId: `${parent.ExecutionId}-${event.EventId}`,
    },
  };
}

function answerToParent(
  { OrchestrationStatus, Result, Timestamp }: EventOf<'ExecutionCompleted'>,
  { TaskScheduledId, InstanceId, ExecutionId }: ParentInstance,
): TaskMessage {
  const base = { EventId: -1, Timestamp, TaskScheduledId };
  const failure = { Reason: readText(Result), Details: OrchestrationStatus };
  return {
    Event:
      OrchestrationStatus === 'Completed'
        ? { EventType: 'SubOrchestrationInstanceCompleted', ...base, Result }
        : { EventType: 'SubOrchestrationInstanceFailed', ...base, ...failure },
    OrchestrationInstance: { InstanceId, ExecutionId },
  };
}

function readText(json: string | null): string {
  const value: unknown = json === null ? '' : JSON.parse(json);
  return typeof value === 'string' ? value : (json ?? '');
}
