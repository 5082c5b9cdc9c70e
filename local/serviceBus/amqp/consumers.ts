import type { Broker } from '../broker/broker.ts';
import type { Queue } from '../broker/queue.ts';

/** A link that takes messages from a queue. */
export interface Consumer {
  /** Hands out one message; false when there is none, or the link can't take one now. */
  deliverOne(): boolean;
  /** Whether the link could take a message now. */
  hasRoom(): boolean;
}

interface Waiting {
  consumers: Set<Consumer>;
  /** Clients that wait for a free session: each tries, and says whether it is done waiting. */
  sessionSeekers: Set<() => boolean>;
  awake: boolean;
}

/** Who waits at which queue; they take turns. */
export class Consumers {
  readonly #broker: Broker;
  readonly #waiting = new Map<Queue, Waiting>();
  readonly #sessionLost = new Map<string, () => void>();

  constructor(broker: Broker) {
    this.#broker = broker;
    for (const queue of broker.all()) {
      this.#waiting.set(queue, { consumers: new Set(), sessionSeekers: new Set(), awake: false });
      queue.onReady = () => this.wake(queue);
      queue.onSessionLost = (holder) => this.#sessionLost.get(holder)?.();
    }
  }

  /** Lets a consumer take turns; the function returned ends that. */
  add(queue: Queue, consumer: Consumer): () => void {
    const { consumers } = this.#at(queue);
    consumers.add(consumer);
    return () => consumers.delete(consumer);
  }

  /** How many links wait for a message of a queue. */
  waitingAt(queue: Queue): number {
    return [...this.#at(queue).consumers].filter((consumer) => consumer.hasRoom()).length;
  }

  /** Calls `attempt` whenever a session may be free, until it returns true or the function returned is called. */
  seekSession(queue: Queue, attempt: () => boolean): () => void {
    const { sessionSeekers } = this.#at(queue);
    sessionSeekers.add(attempt);
    return () => sessionSeekers.delete(attempt);
  }

  /** Calls back when the session that `holder` has is lost; the function returned ends that. */
  watchSession(holder: string, lost: () => void): () => void {
    this.#sessionLost.set(holder, lost);
    return () => this.#sessionLost.delete(holder);
  }

  /** Soon, and only when all is stored that was sent so far: messages go to who has room. */
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
      // To the end of the line: the loop comes to it again after all others.
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
