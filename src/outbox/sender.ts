import type { Clock } from '../platform/clock.ts';
import { workUnderWay } from '../platform/stopping.ts';
import type { Dispatcher, Guard } from './dispatcher.ts';
import type { DispatchDecision, OutboxMessage } from './outboxMessage.ts';

/**
 * Sends what this process has just stored. A process that dies first leaves its messages to the sweeper, like any message that
 * is not dispatched at once.
 */
export interface Sender {
  /** Sends a message at once; see `Dispatcher.dispatch`. */
  send(message: OutboxMessage, guard?: Guard): Promise<DispatchDecision>;
  /**
   * Sends a message as soon as no urgent work is in progress in this process, and after five seconds in any case: receipts
   * wait while payments are being made.
   */
  sendWhenIdle(message: OutboxMessage): void;
  /** Marks urgent work as in progress until the result is disposed of. */
  busy(): Disposable;
  /**
   * For a process that stops: resolves when everything handed over so far has been dispatched, or after `withinMs`
   * milliseconds. The rest is then left to the sweeper.
   */
  drained(withinMs: number): Promise<void>;
}

/** Messages held in memory. The sweeper takes the rest from the store. */
const maxWaiting = 1_000;

/**
 * Longest wait for urgent work to end (ms): payments that wait for their turns can go on for hours. By then the sweeper would
 * take the messages, one by one.
 */
const longestWaitMs = 5_000;

export function createSender(dispatcher: Dispatcher, clock: Clock): Sender {
  let waiting: OutboxMessage[] = [];
  let waitingSince = 0;
  let underWay = 0;
  const { track, ended } = workUnderWay(clock);

  return {
    send,
    sendWhenIdle(message) {
      if (underWay === 0) {
        void send(message);
        return;
      }
      const now = clock.monotonic();
      if (waiting.length === 0) waitingSince = now;
      if (waiting.length < maxWaiting) waiting.push(message);
      if (now - waitingSince >= longestWaitMs) flush();
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
      await ended(withinMs);
    },
  };

  function send(message: OutboxMessage, guard?: Guard): Promise<DispatchDecision> {
    return track(dispatcher.dispatch(message, guard));
  }

  function flush(): void {
    const messages = waiting;
    waiting = [];
    for (const message of messages) void send(message);
  }
}
