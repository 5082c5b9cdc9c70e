/** Listens to the control queue of one partition while this host owns it. */

import { setTimeout as delay } from 'node:timers/promises';
import type { QueueClient } from '@azure/storage-queue';
import { type HeldMessage, receive } from './heldMessages.ts';
import type { LargeTexts } from './largeText.ts';
import { decodeMessage, type TaskMessage } from './messages.ts';
import type { OrchestrationWorker } from './orchestrationWorker.ts';
import { polling } from './polling.ts';

export interface ControlQueueOptions {
  batchSize: number;
  /** Milliseconds. */
  visibility: number;
  longestPause: number;
  work: OrchestrationWorker;
  /** Runs the task once there is room for one more orchestration. */
  limit: <T>(task: () => Promise<T>) => Promise<T>;
  large: LargeTexts;
  log: (level: 'warning' | 'error', message: string) => void;
}

export interface Listener {
  wake(): void;
  /** Takes no more messages; resolves once those received are handled. */
  stop(): Promise<void>;
}

interface Received {
  held: HeldMessage;
  message: TaskMessage;
}

/** Seconds until a message is retried: it came before its start, it lost the commit, its episode failed. */
const retryAfter = { early: 1, conflict: 2, error: 5 };

export function listenToControlQueue(queue: QueueClient, options: ControlQueueOptions): Listener {
  const stopping = new AbortController();
  const poll = polling(options.longestPause, stopping.signal);
  /** Messages for an instance whose episode is running; the next episode takes them all. */
  const waiting = new Map<string, Received[]>();
  const running = new Set<Promise<void>>();

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const messages = await receive(queue, options.batchSize, options.visibility);
        if (messages.length > 0) poll.foundSomething();
        await Promise.all(messages.map(take));
        if (messages.length === options.batchSize) continue;
      } catch (error) {
        options.log('error', `${queue.name}: ${String(error)}`);
      }
      await poll.wait();
    }
  }

  async function take(held: HeldMessage): Promise<void> {
    let message: TaskMessage;
    try {
      message = await decodeMessage(held.messageText, options.large);
    } catch (error) {
      options.log('error', `${queue.name}: dropped a message that cannot be decoded: ${String(error)}`);
      await held.delete();
      return;
    }
    const { Event } = message;
    const early = Event.EventType === 'TimerFired' ? Date.parse(Event.FireAt) - Date.now() : 0;
    if (early > 0) background(delay(early).then(() => add({ held, message })));
    else add({ held, message });
  }

  function add(received: Received): void {
    const { InstanceId } = received.message.OrchestrationInstance;
    const queued = waiting.get(InstanceId);
    if (queued !== undefined) {
      queued.push(received);
      return;
    }
    waiting.set(InstanceId, [received]);
    background(drain(InstanceId));
  }

  async function drain(instanceId: string): Promise<void> {
    // Let the messages of a batch, and those just arriving, join one episode.
    await Promise.resolve();
    for (;;) {
      const batch = waiting.get(instanceId) ?? [];
      if (batch.length === 0) {
        waiting.delete(instanceId);
        return;
      }
      waiting.set(instanceId, []);
      await options.limit(() => episode(instanceId, batch));
    }
  }

  async function episode(instanceId: string, batch: Received[]): Promise<void> {
    try {
      const outcome = await options.work(
        instanceId,
        batch.map(({ message }) => message),
      );
      if (outcome === 'conflict') {
        options.log(
          'warning',
          `${instanceId}: another host committed first; the messages are left to that host`,
        );
      }
      await Promise.all(
        batch.map(({ held }) => (outcome === 'done' ? held.delete() : held.putBack(retryAfter[outcome]))),
      );
    } catch (error) {
      options.log('error', `${instanceId}: an episode failed and will be retried: ${describe(error)}`);
      await Promise.allSettled(batch.map(({ held }) => held.putBack(retryAfter.error)));
    }
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
      while (running.size > 0) await Promise.all(running);
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
