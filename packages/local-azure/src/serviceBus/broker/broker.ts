import type { BrokerClock } from '../clock.ts';
import type { QueueConfig } from '../config.ts';
import type { Journal } from './journal.ts';
import { Queue } from './queue.ts';
import { deadLetterRules } from './rules.ts';

const deadLetterSuffix = '/$deadletterqueue';

/** Longest single timer. Node's timers overflow at 2^31 ms. */
const maxTimerMs = 3_600_000;

/** All queues of a namespace, each with its dead-letter queue, and the timers that drive them. */
export class Broker {
  /** The configured queues, excluding dead-letter queues. */
  readonly queues: readonly Queue[];
  readonly clock: BrokerClock;
  readonly journal: Journal;
  readonly #byAddress = new Map<string, Queue>();
  readonly #timers = new Map<Queue, { at: number; cancel: () => void }>();

  constructor(configs: QueueConfig[], clock: BrokerClock, journal: Journal) {
    this.clock = clock;
    this.journal = journal;
    this.queues = configs.map(({ name, rules }) => {
      const deadLetters = new Queue(`${name}/$DeadLetterQueue`, deadLetterRules(rules), journal);
      return new Queue(name, rules, journal, deadLetters);
    });
    for (const queue of this.all()) {
      this.#byAddress.set(queue.name.toLowerCase(), queue);
      queue.onDue = (at) => this.#wakeAt(queue, at);
    }
  }

  /** Every queue, including dead-letter queues. */
  all(): Queue[] {
    return this.queues.flatMap((queue) =>
      queue.deadLetters === undefined ? [queue] : [queue, queue.deadLetters],
    );
  }

  /** The queue at an AMQP address: `name` or `name/$DeadLetterQueue`, case-insensitive. */
  find(address: string): Queue | undefined {
    return this.#byAddress.get(address.toLowerCase());
  }

  /** The name of the configured queue: the queue's own, or for a dead-letter queue that of its parent. */
  ownerOf({ name }: Queue): string {
    return name.toLowerCase().endsWith(deadLetterSuffix) ? name.slice(0, -deadLetterSuffix.length) : name;
  }

  now(): number {
    return this.clock.now();
  }

  stop(): void {
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #wakeAt(queue: Queue, at: number): void {
    const set = this.#timers.get(queue);
    if (set !== undefined && set.at <= at) return;
    set?.cancel();
    const wait = Math.min(Math.max(0, at - this.now()), maxTimerMs);
    const cancel = this.clock.after(wait, () => {
      this.#timers.delete(queue);
      queue.advance(this.now());
      const next = queue.nextDue();
      if (next < Infinity) this.#wakeAt(queue, next);
    });
    this.#timers.set(queue, { at, cancel });
  }
}
