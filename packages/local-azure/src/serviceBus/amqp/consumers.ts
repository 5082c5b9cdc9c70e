import type { Broker } from '../broker/broker.ts';
import type { Queue } from '../broker/queue.ts';

/** A link that receives from a queue. */
export interface Consumer {
  /** Delivers one message. False if none is ready or the link has no room. */
  deliverOne(): boolean;
  /** True if the link can take a message now. */
  hasRoom(): boolean;
}

interface Waiting {
  consumers: Set<Consumer>;
  /** Attempts by clients waiting for a free session. True: done waiting. */
  sessionSeekers: Set<() => boolean>;
  awake: boolean;
}

/** The consumers waiting at each queue. They take turns. */
export class Consumers {
  readonly #broker: Broker;
  readonly #waiting = new Map<Queue, Waiting>();
  readonly #sessionLost = new Map<string, () => void>();

  constructor(broker: Broker) {
    this.#broker = broker;
    broker.onAdded = (queue) => this.#watch(queue);
    for (const queue of broker.all()) this.#watch(queue);
  }

  #watch(queue: Queue): void {
    this.#waiting.set(queue, { consumers: new Set(), sessionSeekers: new Set(), awake: false });
    queue.onReady = () => this.wake(queue);
    queue.onSessionLost = (holder) => this.#sessionLost.get(holder)?.();
  }

  /** Adds a consumer to the rotation. Returns a function that removes it. */
  add(queue: Queue, consumer: Consumer): () => void {
    const { consumers } = this.#at(queue);
    consumers.add(consumer);
    return () => consumers.delete(consumer);
  }

  /** Counts the links that are waiting for a message from a queue. */
  waitingAt(queue: Queue): number {
    return [...this.#at(queue).consumers].filter((consumer) => consumer.hasRoom()).length;
  }

  /** Calls `attempt` whenever a session may be free, until it returns true. Returns a cancel function. */
  seekSession(queue: Queue, attempt: () => boolean): () => void {
    const { sessionSeekers } = this.#at(queue);
    sessionSeekers.add(attempt);
    return () => sessionSeekers.delete(attempt);
  }

  /** Calls `lost` when `holder` loses its session lock. Returns a cancel function. */
  watchSession(holder: string, lost: () => void): () => void {
    this.#sessionLost.set(holder, lost);
    return () => this.#sessionLost.delete(holder);
  }

  /** Hands out messages in the next tick, once everything sent so far is committed. */
  wake(queue: Queue): void {
    const waiting = this.#at(queue);
    if (waiting.awake || (waiting.consumers.size === 0 && waiting.sessionSeekers.size === 0)) return;
    waiting.awake = true;
    process.nextTick(() => this.#broker.journal.afterCommit(() => this.#handOut(waiting)));
  }

  #handOut(waiting: Waiting): void {
    waiting.awake = false;
    for (const attempt of waiting.sessionSeekers) {
      if (attempt()) waiting.sessionSeekers.delete(attempt);
    }
    for (const consumer of waiting.consumers) {
      if (!consumer.deliverOne()) continue;
      // Back of the line: the loop reaches this consumer again after all others.
      waiting.consumers.delete(consumer);
      waiting.consumers.add(consumer);
    }
  }

  #at(queue: Queue): Waiting {
    const waiting = this.#waiting.get(queue);
    if (waiting === undefined) throw new Error(`unknown queue ${queue.name}`);
    return waiting;
  }
}
