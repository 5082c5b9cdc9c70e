/** A storage queue: visibility time-outs, no order, no detection of duplicates. The host deletes what its function has done. */
import { itemsOf, type WorkItem, workItemSchema } from '../../../packages/jobs/src/workItems/workItem.ts';
import type { Timeline } from '../engine/machine.ts';

export interface QueuedMessage {
  readonly id: string;
  readonly text: string;
  dequeueCount: number;
  /** Changes with every delivery: only the latest receiver can delete the message. */
  receipt: number;
}

export interface StorageQueue {
  put(text: string, delayMs?: number): void;
  delete(id: string, receipt: number): boolean;
  /** Makes it visible again after `delayMs`. */
  giveBack(id: string, receipt: number, delayMs: number): boolean;
  /** The receiver still works on it: it stays invisible for the full time from now on. */
  keep(id: string, receipt: number): void;
  messages(): readonly QueuedMessage[];
  /** All that it holds is gone. */
  lose(): void;
  /** Somebody else takes it. */
  take(message: QueuedMessage): void;
}

/** Time that the host makes a message invisible while its function runs (ms). */
const visibilityMs = 600_000;

export function storageQueue(
  timeline: Timeline,
  name: string,
  {
    deliver,
    lateness,
    comesTwice,
  }: {
    deliver: (message: QueuedMessage) => boolean;
    lateness: () => number;
    comesTwice: () => boolean;
  },
): StorageQueue & { offer(): void } {
  const messages = new Map<string, QueuedMessage & { until: number }>();
  const waiting = new Set<string>();
  let count = 0;

  return {
    put(text, delayMs = 0) {
      add(text, delayMs);
      if (comesTwice()) add(text, delayMs);
    },
    delete: (id, receipt) => messages.get(id)?.receipt === receipt && messages.delete(id),
    giveBack(id, receipt, delayMs) {
      if (messages.get(id)?.receipt !== receipt) return false;
      appear(id, receipt, delayMs);
      return true;
    },
    keep(id, receipt) {
      const message = messages.get(id);
      if (message?.receipt === receipt) message.until = timeline.now + visibilityMs;
    },
    messages: () => [...messages.values()],
    lose: () => messages.clear(),
    take: ({ id }) => void messages.delete(id),
    offer() {
      for (const id of waiting) {
        const message = messages.get(id);
        if (message !== undefined && !hand(message)) break;
        waiting.delete(id);
      }
    },
  };

  function add(text: string, delayMs: number): void {
    const message = { id: `${name}-${count++}`, text, dequeueCount: 0, receipt: 0, until: 0 };
    messages.set(message.id, message);
    appear(message.id, 0, delayMs);
  }

  function appear(id: string, receipt: number, delayMs: number): void {
    timeline.events.add(timeline.now + Math.ceil(delayMs) + lateness(), () => {
      timeline.running = undefined;
      const message = messages.get(id);
      if (message?.receipt === receipt && !hand(message)) waiting.add(id);
    });
  }

  function hand(message: QueuedMessage & { until: number }): boolean {
    message.receipt++;
    message.dequeueCount++;
    message.until = timeline.now + visibilityMs;
    if (!deliver(message)) {
      message.receipt--;
      message.dequeueCount--;
      return false;
    }
    watch(message, message.receipt);
    return true;
  }

  function watch(message: QueuedMessage & { until: number }, receipt: number): void {
    timeline.events.add(message.until, () => {
      timeline.running = undefined;
      if (messages.get(message.id)?.receipt !== receipt) return;
      if (message.until > timeline.now) watch(message, receipt);
      else if (!hand(message)) waiting.add(message.id);
    });
  }
}

/** The work items of a message that are some. */
export function workItemsIn(text: string): WorkItem[] {
  const message: unknown = JSON.parse(text);
  return (itemsOf(message) ?? [message]).flatMap((item) => workItemSchema.safeParse(item).data ?? []);
}
