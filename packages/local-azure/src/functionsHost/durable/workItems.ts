/** Runs activities from the work-item queue, which all hosts of a task hub share. */

import { setTimeout as delay } from 'node:timers/promises';
import type { QueueClient } from '@azure/storage-queue';
import { WorkerEnded } from '../worker/workerProcess.ts';
import type { Listener } from './controlQueue.ts';
import type { EventOf } from './events.ts';
import { type Invoke, runActivity } from './functionRunner.ts';
import { type HeldMessage, receive } from './heldMessages.ts';
import type { LargeTexts } from './largeText.ts';
import { decodeMessage, type MessageSender } from './messages.ts';
import { polling } from './polling.ts';

export interface WorkItemsOptions {
  maxConcurrent: number;
  /** Milliseconds. */
  visibility: number;
  longestPause: number;
  invoke: Invoke;
  send: MessageSender;
  large: LargeTexts;
  log: (level: 'error', message: string) => void;
}

export function listenToWorkItems(queue: QueueClient, options: WorkItemsOptions): Listener {
  const stopping = new AbortController();
  const poll = polling(options.longestPause, stopping.signal);
  const running = new Set<Promise<void>>();

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (running.size >= options.maxConcurrent) {
        await Promise.race(running);
        continue;
      }
      try {
        // One at a time, and more slowly the busier this host is: that spreads a fan-out over the hosts.
        const [held] = await receive(queue, 1, options.visibility);
        if (held !== undefined) {
          poll.foundSomething();
          background(work(held));
          await delay(Math.min((running.size - 1) * 10, 50));
          continue;
        }
      } catch (error) {
        options.log('error', `${queue.name}: ${String(error)}`);
      }
      await poll.wait();
    }
  }

  async function work(held: HeldMessage): Promise<void> {
    try {
      const { Event, OrchestrationInstance } = await decodeMessage(held.messageText, options.large);
      if (Event.EventType !== 'TaskScheduled')
        throw new Error(`work item: expected TaskScheduled, got ${Event.EventType}`);
      const answer = await answerOf(Event);
      await options.send.toInstance({ Event: answer, OrchestrationInstance });
      await held.delete();
    } catch (error) {
      options.log('error', `${queue.name}: a work item failed and will be retried: ${String(error)}`);
      if (error instanceof WorkerEnded) await held.putBack(1).catch(() => held.letGo());
      else held.letGo();
    }
  }

  async function answerOf(
    event: EventOf<'TaskScheduled'>,
  ): Promise<EventOf<'TaskCompleted'> | EventOf<'TaskFailed'>> {
    const answer = await runActivity(options.invoke, event.Name, event.Input);
    const base = { EventId: -1, Timestamp: new Date().toISOString(), TaskScheduledId: event.EventId };
    return answer.kind === 'completed'
      ? { EventType: 'TaskCompleted', ...base, Result: answer.result }
      : { EventType: 'TaskFailed', ...base, Reason: answer.reason, Details: answer.details };
  }

  function background(task: Promise<void>): void {
    running.add(task);
    void task.finally(() => running.delete(task));
  }

  const looping = loop();
  return {
    wake: poll.wake,
    async stop() {
      stopping.abort();
      await looping;
      await Promise.all(running);
    },
  };
}
