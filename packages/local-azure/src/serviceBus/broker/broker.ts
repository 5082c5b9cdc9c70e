import type { BrokerClock } from '../clock.ts';
import type { EntityConfig } from '../config.ts';
import { filterView, type MessageView } from '../filters/messageView.ts';
import { compileRule, type Rule } from '../filters/rule.ts';
import type { Journal } from './journal.ts';
import type { Message } from './message.ts';
import { Queue } from './queue.ts';
import { deadLetterRules } from './rules.ts';

/** Longest single timer. Node's timers overflow at 2^31 ms. */
const maxTimerMs = 3_600_000;

/** Most entities that one message is forwarded through, as on the service. */
const maxHops = 4;

/** Forwarding goes in a circle, through too many entities, or to none. */
export class BadForwarding extends Error {
  override readonly name = 'BadForwarding';
}

/** A queue, a topic or a subscription. A topic is a queue that passes on all its messages. */
export interface Entity {
  config: EntityConfig;
  queue: Queue;
  /** The copies of a message for a subscription: one for all rules without an action, and one for each with one. */
  copies: (message: Message, view: MessageView) => Message[];
  createdAt: number;
  updatedAt: number;
}

/** All entities of a namespace, each with its dead-letter queue, and the timers that drive them. */
export class Broker {
  readonly clock: BrokerClock;
  readonly journal: Journal;
  /** Called with each queue, and each dead-letter queue, when it comes. */
  onAdded: (queue: Queue) => void = () => {};
  readonly #entities = new Map<string, Entity>();
  readonly #byAddress = new Map<string, Queue>();
  readonly #timers = new Map<Queue, { at: number; cancel: () => void }>();
  /** False until stored messages are back in their queues. */
  #forwards = false;

  constructor(configs: EntityConfig[], clock: BrokerClock, journal: Journal) {
    this.clock = clock;
    this.journal = journal;
    for (const config of configs) this.add(config);
  }

  /** Everything but dead-letter queues. */
  get queues(): Queue[] {
    return this.entities().map(({ queue }) => queue);
  }

  entities(): Entity[] {
    return [...this.#entities.values()];
  }

  entity(name: string): Entity | undefined {
    return this.#entities.get(name.toLowerCase());
  }

  subscriptionsOf(topic: string): Entity[] {
    const start = `${topic.toLowerCase()}/subscriptions/`;
    return [...this.#entities].filter(([name]) => name.startsWith(start)).map(([, entity]) => entity);
  }

  add(config: EntityConfig): Entity {
    const { kind, name } = config;
    const { journal } = this;
    const rules = { ...config.rules };
    const dead =
      kind === 'topic' ? undefined : new Queue(`${name}/$DeadLetterQueue`, deadLetterRules(rules), journal);
    const queue = new Queue(name, rules, journal, dead, kind);
    const now = this.now();
    const entity = { config, queue, copies: copierOf(config), createdAt: now, updatedAt: now };
    this.#entities.set(name.toLowerCase(), entity);
    for (const each of dead === undefined ? [queue] : [queue, dead]) {
      this.#byAddress.set(each.name.toLowerCase(), each);
      each.onDue = (at) => this.#wakeAt(each, at);
      each.forward = (message) => this.#forward(each, message);
      this.onAdded(each);
    }
    return entity;
  }

  /** Gives an entity other properties or filters. */
  update(entity: Entity, config: EntityConfig): void {
    const { queue } = entity;
    Object.assign(queue.rules, config.rules);
    if (queue.deadLetters !== undefined)
      Object.assign(queue.deadLetters.rules, deadLetterRules(config.rules));
    Object.assign(entity, { config, copies: copierOf(config), updatedAt: this.now() });
    queue.forwardReady();
    queue.deadLetters?.forwardReady();
  }

  /** Gives a subscription other rules, and keeps them. */
  setRules(entity: Entity, filters: readonly Rule[]): void {
    const config = { ...entity.config, filters };
    this.update(entity, config);
    this.journal.putEntity(config);
  }

  /** Removes an entity with its messages, and a topic's subscriptions. */
  remove({ queue }: Entity): void {
    if (queue.kind === 'topic') for (const each of this.subscriptionsOf(queue.name)) this.remove(each);
    this.#entities.delete(queue.name.toLowerCase());
    for (const each of queue.deadLetters === undefined ? [queue] : [queue, queue.deadLetters]) {
      this.#byAddress.delete(each.name.toLowerCase());
      this.#timers.get(each)?.cancel();
      this.#timers.delete(each);
    }
  }

  /** Begins to forward, once stored messages are back in their queues. */
  startForwarding(): void {
    this.#forwards = true;
    for (const queue of this.all()) queue.forwardReady();
  }

  /** @throws {BadForwarding} if messages of an entity would go to none, in a circle, or too far */
  requireForwarding(config: EntityConfig): void {
    const { name, rules } = config;
    const next = (of: { forwardTo?: string | undefined; forwardDeadLettersTo?: string | undefined }) =>
      [of.forwardTo, of.forwardDeadLettersTo].filter((target) => target !== undefined);
    const walk = (target: string, hops: number): void => {
      const found = this.entity(target);
      if (found === undefined || found.config.kind === 'subscription')
        throw new BadForwarding(`"${name}" forwards to "${target}", which is no queue or topic.`);
      if (hops > maxHops || target.toLowerCase() === name.toLowerCase())
        throw new BadForwarding(`"${name}" forwards in a circle or through more than ${maxHops} entities.`);
      const after = found.config.kind === 'topic' ? this.subscriptionsOf(target) : [found];
      for (const { config: each } of after)
        for (const further of next(each.name === name ? rules : each.rules)) walk(further, hops + 1);
    };
    for (const target of next(rules)) walk(target, 1);
  }

  /** Every queue, including dead-letter queues. */
  all(): Queue[] {
    return [...this.#byAddress.values()];
  }

  /** The queue at an AMQP address: `name` or `name/$DeadLetterQueue`, case-insensitive. */
  find(address: string): Queue | undefined {
    return this.#byAddress.get(address.toLowerCase());
  }

  now(): number {
    return this.clock.now();
  }

  stop(): void {
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #forward(from: Queue, message: Message): boolean {
    if (!this.#forwards) return false;
    const now = this.now();
    const left = message.expiresAt === Infinity ? message.timeToLive : message.expiresAt - now;
    const passedOn = { ...message, timeToLive: left };
    if (from.kind === 'topic') {
      const view = filterView(message);
      for (const { queue, copies } of this.subscriptionsOf(from.name))
        for (const copy of copies(passedOn, view)) enqueueAt(queue, copy, now);
      return true;
    }
    const target = from.rules.forwardTo === undefined ? undefined : this.find(from.rules.forwardTo);
    if (target === undefined) return false;
    enqueueAt(target, passedOn, now);
    return true;
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

function copierOf({ filters }: EntityConfig): Entity['copies'] {
  const compiled = filters.map(compileRule);
  return (message, view) => {
    const taking = compiled.filter(({ takes }) => takes(view));
    const changed = taking.flatMap(({ change }) => (change === undefined ? [] : [change(message)]));
    return changed.length < taking.length ? [message, ...changed] : changed;
  };
}

/** A message without a session is a dead letter of what requires one. Its sender knew nothing of that. */
function enqueueAt(queue: Queue, message: Message, now: number): void {
  if (!queue.rules.requiresSession || message.sessionId !== undefined) {
    queue.enqueue(message, now, true);
    return;
  }
  const reason = {
    reason: 'Session id is null.',
    description: 'Session enabled entity without a session id.',
  };
  const deadLetter = { ...reason, source: queue.name };
  queue.deadLetters?.enqueue({ ...message, deadLetter }, now);
}
