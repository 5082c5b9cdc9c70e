import type { Clock } from '../platform/clock.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/**
 * Messages that can wait while more urgent work goes on in this process: receipts while payments are being made. They
 * are dispatched as soon as no such work is under way. A process that dies before, or stays busy for longer, leaves
 * them to the sweeper, as any message that was not dispatched at once.
 */
export interface Backlog {
  add(message: OutboxMessage): void;
  /** Marks urgent work as under way, until it is disposed of. */
  busy(): Disposable;
  /**
   * Resolves when what was added so far has been dispatched, at the latest after `withinMs` milliseconds: then the rest is
   * left to the sweeper. For a process that stops.
   */
  drained(withinMs: number): Promise<void>;
}

/** The sweeper takes messages from the store, so the memory of a busy process need not hold more than this. */
const maxWaiting = 1_000;

export function createBacklog(dispatcher: Dispatcher, clock: Clock): Backlog {
  let waiting: OutboxMessage[] = [];
  let underWay = 0;
  const dispatching = new Set<Promise<unknown>>();

  function dispatch(message: OutboxMessage): void {
    const work = dispatcher.dispatch(message).finally(() => dispatching.delete(work));
    dispatching.add(work);
  }

  function flush(): void {
    const messages = waiting;
    waiting = [];
    for (const message of messages) dispatch(message);
  }

  return {
    add(message) {
      if (underWay === 0) dispatch(message);
      else if (waiting.length < maxWaiting) waiting.push(message);
    },
    busy() {
      underWay++;
      return {
        [Symbol.dispose]() {
          underWay--;
          if (underWay === 0) flush();
        },
      };
    },
    async drained(withinMs) {
      flush();
      const done = new AbortController();
      const late = clock.sleep(withinMs, done.signal).catch(() => {});
      await Promise.race([Promise.all(dispatching), late]);
      done.abort();
    },
  };
}
