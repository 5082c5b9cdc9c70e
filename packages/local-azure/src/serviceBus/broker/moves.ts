/**
 * The states of a message in one queue and every transition between them. No I/O and no clock: callers pass
 * the time.
 *
 *   scheduled ──falls due───────► ready            (with a new sequence number)
 *   scheduled ──cancel──────────► gone
 *   ready     ──lock────────────► locked           (with a new token)
 *   ready     ──take────────────► gone             (receive and delete)
 *   ready     ──expires─────────► dead-lettered or gone
 *   ready     ──forwarded───────► gone             (at once, to the queues that take it)
 *   locked    ──complete────────► gone
 *   locked    ──abandoned, or its lock or session ends──► ready, or deferred if it was received by number;
 *                                 dead-lettered if that was its last allowed delivery;
 *                                 dead-lettered or gone if it expired meanwhile
 *   locked    ──defer───────────► deferred         (a delivery too: dead-lettered if it was the last allowed)
 *   locked    ──dead-letter─────► dead-lettered    (refused in a dead-letter queue)
 *   deferred  ──lock by number──► locked           (dead-lettered or gone if it has expired)
 *
 * Only the token holder moves a locked message; only `advance` moves one because time has passed.
 * "Dead-lettered" means moved to the dead-letter queue, a queue of the same kind without limits, which counts no
 * deliveries: a dead letter keeps the count it died with.
 */
import { randomUUID } from 'node:crypto';
import { DueTimes } from './dueTimes.ts';
import type { Entry, Session } from './entry.ts';
import type { Journal, RestingPlace } from './journal.ts';
import type { DeadLetterCause, Delivery, IncomingMessage, Message } from './message.ts';
import type { QueueRules } from './rules.ts';
import type { Sessions } from './sessions.ts';
import { tooManyDeliveries } from './settlement.ts';
import { Shelf } from './shelf.ts';

export interface QueueEvents {
  /** A message became ready, or a session with messages became free. */
  ready(): void;
  /** A session's lock expired while held. */
  sessionLost(holder: string): void;
  /** A new earliest due time was set. */
  due(at: number): void;
  /** Passes a message that became ready on to others. False if it stays here. */
  forward(message: Message): boolean;
}

interface MovesOptions {
  name: string;
  rules: QueueRules;
  journal: Journal;
  /** Undefined in a dead-letter queue. */
  deadLetters: { receiveDead(message: Message): void } | undefined;
  sessions: Sessions;
  events: QueueEvents;
}

export class Moves {
  readonly shelf: Shelf;
  readonly due: DueTimes<Entry | Session>;
  readonly counters = {
    sent: 0,
    received: 0,
    completed: 0,
    abandoned: 0,
    duplicatesDropped: 0,
    lockExpiries: 0,
  };
  nextSequence = 1;
  readonly #name: string;
  readonly #rules: QueueRules;
  readonly #journal: Journal;
  readonly #deadLetters: MovesOptions['deadLetters'];
  readonly #events: QueueEvents;

  constructor({ name, rules, journal, deadLetters, sessions, events }: MovesOptions) {
    this.#name = name;
    this.#rules = rules;
    this.#journal = journal;
    this.#deadLetters = deadLetters;
    this.#events = events;
    this.shelf = new Shelf(rules.requiresSession ? sessions : undefined);
    this.due = new DueTimes((at) => events.due(at));
  }

  /** Applies every schedule, expiry and lock timeout due by `now`. */
  advance(now: number): void {
    for (let due = this.due.takeDue(now); due !== undefined; due = this.due.takeDue(now)) {
      if (due.kind === 'session') this.sessionEnded(due, now);
      else this.#timeUp(due, now);
    }
  }

  /** Adds a new message, unless it is forwarded. */
  store(message: Message, place: RestingPlace): void {
    if (place === 'ready' && this.#events.forward(message)) return;
    this.#journal.put(this.#name, message, place);
    this.settleIn(this.shelf.add(message, place), place);
  }

  /** Moves a message to a resting place. */
  rest(entry: Entry, place: RestingPlace): void {
    this.#journal.put(this.#name, entry.message, place);
    this.shelf.rest(entry, place);
    this.settleIn(entry, place);
  }

  drop(entry: Entry): void {
    this.#journal.remove(this.#name, entry.message.sequenceNumber);
    this.shelf.remove(entry);
  }

  /** Locks a ready or deferred message for a receiver. */
  lock(entry: Entry, now: number, fallsBackTo: 'ready' | 'deferred', session: Session | undefined): Delivery {
    this.counters.received++;
    const token = randomUUID();
    const until = session === undefined ? now + this.#rules.lockMs : session.dueAt;
    this.shelf.lock(entry, { kind: 'locked', token, until, fallsBackTo, session });
    // Under a session, only the session's lock expires.
    this.due.set(entry, session === undefined ? until : Infinity);
    return { message: entry.message, token, lockedUntil: until };
  }

  /** Counts a failed delivery. Returns the message, or dead-letters it if no deliveries are left. */
  giveBack(entry: Entry, now: number): void {
    if (entry.place.kind !== 'locked') return;
    const { fallsBackTo } = entry.place;
    if (this.#wasLastDelivery(entry)) return;
    if (fallsBackTo === 'ready' && entry.message.expiresAt <= now) {
      this.expire(entry);
    } else {
      this.rest(entry, fallsBackTo);
    }
  }

  /** Sets a message aside, which counts as a delivery. */
  defer(entry: Entry): void {
    if (!this.#wasLastDelivery(entry)) this.rest(entry, 'deferred');
  }

  /** Counts a delivery that did not complete the message. True if none is left: then it is a dead letter now. */
  #wasLastDelivery(entry: Entry): boolean {
    if (this.#deadLetters === undefined) return false;
    entry.message.deliveryCount++;
    const cause = tooManyDeliveries(entry.message, this.#rules);
    if (cause !== undefined) this.kill(entry, cause);
    return cause !== undefined;
  }

  /** Moves a message to the dead-letter queue. Never in a dead-letter queue: there `settle` refuses it. */
  kill(entry: Entry, cause: DeadLetterCause): void {
    if (this.#deadLetters === undefined) throw new Error(`${this.#name} has no dead letters of its own`);
    this.drop(entry);
    this.#deadLetters.receiveDead({ ...entry.message, deadLetter: { ...cause, source: this.#name } });
  }

  /** Dead-letters or drops a message that outlived its time to live. */
  expire(entry: Entry): void {
    if (this.#rules.deadLetterOnExpiry) {
      const description = 'The message expired and was dead lettered.';
      this.kill(entry, { reason: 'TTLExpiredException', description });
    } else {
      this.drop(entry);
    }
  }

  /** Handles a message lock that expired while held. */
  lockEnded(entry: Entry, now: number): void {
    this.counters.lockExpiries++;
    this.giveBack(entry, now);
  }

  /** Handles a session lock that expired while held. */
  sessionEnded(session: Session, now: number): void {
    const { holder } = session;
    this.counters.lockExpiries++;
    this.freeSession(session, now);
    if (holder !== undefined) this.#events.sessionLost(holder);
  }

  /** Frees a session. Its unsettled messages count as failed deliveries. */
  freeSession(session: Session, now: number): void {
    session.holder = undefined;
    session.dueAt = Infinity;
    for (const entry of session.locked) this.giveBack(entry, now);
    if (this.shelf.firstReady(session) !== undefined) this.#events.ready();
  }

  /** Schedules the next due time of a message at rest, and offers it to receivers if it is ready. */
  settleIn(entry: Entry, place: RestingPlace): void {
    const { expiresAt, scheduledFor, enqueuedAt } = entry.message;
    switch (place) {
      case 'ready':
        this.due.set(entry, expiresAt);
        this.#events.ready();
        break;
      case 'scheduled':
        this.due.set(entry, scheduledFor ?? enqueuedAt);
        break;
      case 'deferred':
        this.due.set(entry, Infinity);
        break;
    }
  }

  /** When a message that becomes active at `enqueuedAt` expires, in epoch milliseconds. */
  expiryFrom(enqueuedAt: number, { timeToLive = Infinity }: IncomingMessage): number {
    return enqueuedAt + Math.min(timeToLive, this.#rules.timeToLiveMs);
  }

  #timeUp(entry: Entry, now: number): void {
    switch (entry.place.kind) {
      case 'scheduled':
        this.#activate(entry);
        break;
      case 'ready':
        this.expire(entry);
        break;
      case 'locked':
        this.lockEnded(entry, now);
        break;
      case 'deferred':
        break;
    }
  }

  #activate(entry: Entry): void {
    this.drop(entry);
    const enqueuedAt = entry.message.scheduledFor ?? entry.message.enqueuedAt;
    const expiresAt = this.expiryFrom(enqueuedAt, entry.message);
    this.store({ ...entry.message, sequenceNumber: this.nextSequence++, enqueuedAt, expiresAt }, 'ready');
  }
}
