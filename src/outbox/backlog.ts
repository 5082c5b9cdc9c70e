import type { Clock } from '../platform/clock.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/**
 * Messages that can wait while more urgent work goes on in this process: receipts, while payments are being made. They are
 * dispatched as soon as no such work is under way. A process that dies first, or stays busy for longer, leaves them to the
 * sweeper, like any message that is not dispatched at once.
 */
export interface Backlog {
  add(message: OutboxMessage): void;
  /** Marks urgent work as under way until the result is disposed of. */
  busy(): Disposable;
  /**
   * For a process that stops: resolves when everything added so far has been dispatched, or after `withinMs` milliseconds.
   * The rest is then left to the sweeper.
   */
  drained(withinMs: number): Promise<void>;
}

/** Messages held in memory. The sweeper takes the rest from the store. */
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
