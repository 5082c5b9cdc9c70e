/**
 * One queue as a state machine. No I/O and no clock: every call is given the time.
 *
 *   scheduled ──its time comes──► ready            (a new sequence number)
 *   scheduled ──cancel──────────► gone
 *   ready     ──lock────────────► locked           (a fresh token)
 *   ready     ──take────────────► gone             (receive and delete)
 *   ready     ──time to live ends► dead-lettered or gone
 *   locked    ──complete────────► gone
 *   locked    ──abandon, lock or session ends──► ready, or deferred if it was received by number;
 *                                 dead-lettered when it was the last delivery allowed, or expired meanwhile
 *   locked    ──defer───────────► deferred
 *   locked    ──dead-letter─────► dead-lettered
 *   deferred  ──lock by number──► locked           (expired by then: dead-lettered or gone)
 *
 * Only the holder of the token moves a locked message; only `advance` moves one because of time. "Dead-lettered"
 * means handed to the dead-letter queue, which is a queue of the same kind without limits.
 */
import { randomUUID } from 'node:crypto';
import { DueTimes } from './dueTimes.ts';
import { DuplicateHistory } from './duplicates.ts';
import type { Entry, Session } from './entry.ts';
import type { Journal, RestingPlace } from './journal.ts';
import type { DeadLetterCause, IncomingMessage, Message } from './message.ts';
import type { QueueRules } from './rules.ts';
import { Sessions } from './sessions.ts';
import { Shelf } from './shelf.ts';

export interface Delivery {
  message: Message;
  token: string;
  /** Epoch milliseconds. */
  lockedUntil: number;
}

export interface PeekedMessage {
  message: Message;
  place: RestingPlace | 'locked';
}

/** How a locked message is settled; `bare` replaces its bytes. */
export type Settlement =
  | { kind: 'complete' }
  | { kind: 'abandon'; bare?: Buffer }
  | { kind: 'defer'; bare?: Buffer }
  | { kind: 'deadLetter'; cause: DeadLetterCause; bare?: Buffer };

export type SessionAcceptance =
  | { outcome: 'accepted'; sessionId: string; until: number }
  /** Someone else holds the session that was asked for. */
  | { outcome: 'taken' }
  /** Any session would do, but none that is free has a message. */
  | { outcome: 'noneFree' };

const newCounters = () => ({
  sent: 0,
  received: 0,
  completed: 0,
  abandoned: 0,
  duplicatesDropped: 0,
  lockExpiries: 0,
});

export class Queue {
  readonly name: string;
  readonly rules: QueueRules;
  readonly deadLetters: Queue | undefined;
  readonly counters = newCounters();
  nextSequence = 1;
  /** Told when a message became ready, or a session with messages free. */
  onReady: () => void = () => {};
  /** Told when a session's lock ran out under its holder. */
  onSessionLost: (holder: string) => void = () => {};
  /** Told when something is due earlier than all before. */
  onDue: (at: number) => void = () => {};

  readonly #journal: Journal;
  readonly #sessions = new Sessions();
  readonly #shelf: Shelf;
  readonly #due = new DueTimes<Entry | Session>((at) => this.onDue(at));
  readonly #seen: DuplicateHistory | undefined;

  constructor(name: string, rules: QueueRules, journal: Journal, deadLetters?: Queue) {
    this.name = name;
    this.rules = rules;
    this.deadLetters = deadLetters;
    this.#journal = journal;
    this.#shelf = new Shelf(rules.requiresSession ? this.#sessions : undefined);
    if (rules.duplicateWindowMs !== undefined) this.#seen = new DuplicateHistory(rules.duplicateWindowMs);
  }

  /** How many messages are in which place. */
  get counts(): Readonly<Record<RestingPlace | 'locked', number>> {
    return this.#shelf.counts;
  }

  /** Stores a message and gives its number; undefined when its id was seen within the window: then it is dropped. */
  enqueue(incoming: IncomingMessage, now: number): number | undefined {
    this.advance(now);
    if (this.#isDuplicate(incoming, now)) return undefined;
    this.counters.sent++;
    const message: Message = {
      ...incoming,
      sequenceNumber: this.nextSequence++,
      enqueuedAt: now,
      expiresAt: this.#expiryFrom(now, incoming),
      deliveryCount: 0,
      deadLetter: undefined,
    };
    const scheduled = incoming.scheduledFor !== undefined && incoming.scheduledFor > now;
    this.#store(message, scheduled ? 'scheduled' : 'ready');
    return message.sequenceNumber;
  }

  /** Puts back what a store had kept. */
  restore(message: Message, place: RestingPlace): void {
    this.nextSequence = Math.max(this.nextSequence, message.sequenceNumber + 1);
    this.#settleIn(this.#shelf.add(message, place), place);
  }

  restoreId(messageId: string, at: number): void {
    this.#seen?.remember(messageId, at);
  }

  restoreSessionState(sessionId: string, state: Buffer): void {
    this.#sessions.getOrCreate(sessionId).state = state;
  }

  /** Removes a scheduled message; false when there is none with that number. */
  cancelScheduled(sequenceNumber: number, now: number): boolean {
    this.advance(now);
    const entry = this.#shelf.byNumber(sequenceNumber);
    if (entry?.place.kind !== 'scheduled') return false;
    this.#drop(entry);
    return true;
  }

  /** Whether there is a message to lock or take. */
  hasReady(now: number, sessionId?: string): boolean {
    this.advance(now);
    const lane = this.#shelf.laneFor(sessionId);
    return lane !== undefined && this.#shelf.firstReady(lane) !== undefined;
  }

  /** Locks the next ready message, or the next of a session that the caller has accepted. */
  lockNext(now: number, sessionId?: string): Delivery | undefined {
    const entry = this.#nextReady(now, sessionId);
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    return entry === undefined ? undefined : this.#lock(entry, now, 'ready', session);
  }

  /** Receive and delete: the next ready message leaves the queue at once. */
  takeNext(now: number, sessionId?: string): Message | undefined {
    return this.#take(this.#nextReady(now, sessionId));
  }

  /** Locks a deferred message; undefined when no deferred message has that number, or it has expired. */
  lockDeferred(sequenceNumber: number, now: number): Delivery | undefined {
    const entry = this.#deferred(sequenceNumber, now);
    if (entry === undefined) return undefined;
    const { sessionId } = entry.message;
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    return this.#lock(entry, now, 'deferred', session?.holder === undefined ? undefined : session);
  }

  takeDeferred(sequenceNumber: number, now: number): Message | undefined {
    return this.#take(this.#deferred(sequenceNumber, now));
  }

  /** The message under a live lock. */
  lockedMessage(token: string, now: number): Message | undefined {
    this.advance(now);
    return this.#shelf.byToken(token)?.message;
  }

  /** Ends a lock as its holder asks; false when the lock is no longer there. */
  settle(token: string, settlement: Settlement, now: number): boolean {
    this.advance(now);
    const entry = this.#shelf.byToken(token);
    if (entry === undefined) return false;
    if (settlement.kind !== 'complete' && settlement.bare !== undefined) entry.message.bare = settlement.bare;
    switch (settlement.kind) {
      case 'complete':
        this.counters.completed++;
        this.#drop(entry);
        break;
      case 'abandon':
        this.counters.abandoned++;
        this.#giveBack(entry, now);
        break;
      case 'defer':
        this.#rest(entry, 'deferred');
        break;
      case 'deadLetter':
        this.#kill(entry, settlement.cause);
        break;
    }
    return true;
  }

  /** Prolongs a lock and says until when; undefined when it is no longer there. */
  renew(token: string, now: number): number | undefined {
    this.advance(now);
    const entry = this.#shelf.byToken(token);
    if (entry?.place.kind !== 'locked') return undefined;
    if (entry.place.session !== undefined) return entry.place.session.dueAt;
    entry.place.until = now + this.rules.lockMs;
    this.#due.set(entry, entry.place.until);
    return entry.place.until;
  }

  /** Up to `count` messages from a sequence number on, whatever their state, without locking them. */
  peek(from: number, count: number, sessionId: string | undefined, now: number): PeekedMessage[] {
    this.advance(now);
    return [...this.#shelf.all()]
      .filter(({ message }) => message.sequenceNumber >= from)
      .filter(({ message }) => sessionId === undefined || message.sessionId === sessionId)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count)
      .map(({ message, place }) => ({ message, place: place.kind }));
  }

  /** Deletes up to `count` ready messages that came no later than a time, oldest first; says how many. */
  deleteReady(count: number, enqueuedUntil: number, now: number): number {
    this.advance(now);
    const chosen = [...this.#shelf.all()]
      .filter(({ place, message }) => place.kind === 'ready' && message.enqueuedAt <= enqueuedUntil)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count);
    for (const entry of chosen) this.#drop(entry);
    return chosen.length;
  }

  /** Locks a session for `holder`; without an id, the free session whose first message is the oldest. */
  acceptSession(sessionId: string | undefined, holder: string, now: number): SessionAcceptance {
    this.advance(now);
    const session =
      sessionId === undefined
        ? this.#sessions.oldestFree((each) => this.#shelf.firstReady(each))
        : this.#sessions.getOrCreate(sessionId);
    if (session === undefined) return { outcome: 'noneFree' };
    if (session.holder !== undefined) return { outcome: 'taken' };
    session.holder = holder;
    this.#due.set(session, now + this.rules.lockMs);
    return { outcome: 'accepted', sessionId: session.id, until: session.dueAt };
  }

  /** Prolongs a session's lock; undefined when nobody holds it. */
  renewSession(sessionId: string, now: number): number | undefined {
    this.advance(now);
    const session = this.#sessions.get(sessionId);
    if (session?.holder === undefined) return undefined;
    this.#due.set(session, now + this.rules.lockMs);
    return session.dueAt;
  }

  /** Frees a session that `holder` has. */
  releaseSession(sessionId: string, holder: string, now: number): void {
    const session = this.#sessions.get(sessionId);
    if (session?.holder === holder) this.#freeSession(session, now);
  }

  isSessionHeldBy(sessionId: string, holder: string, now: number): boolean {
    this.advance(now);
    return this.#sessions.get(sessionId)?.holder === holder;
  }

  sessionState(sessionId: string): Buffer | null {
    return this.#sessions.get(sessionId)?.state ?? null;
  }

  setSessionState(sessionId: string, state: Buffer | null): void {
    this.#sessions.getOrCreate(sessionId).state = state;
    this.#journal.putSessionState(this.name, sessionId, state);
  }

  /** Ends every lock now, as if its time had run out; says how many there were. */
  expireLocks(now: number): number {
    this.advance(now);
    const entries = this.#shelf.underLock().filter(({ dueAt }) => dueAt < Infinity);
    for (const entry of entries) this.#lockEnded(entry, now);
    const sessions = this.#sessions.held();
    for (const session of sessions) this.#sessionEnded(session, now);
    return entries.length + sessions.length;
  }

  /** When time next moves something here, or a little before. */
  nextDue(): number {
    return this.#due.next();
  }

  /** Lets time act: schedules, expiry and locks that are due by `now`. */
  advance(now: number): void {
    for (let due = this.#due.takeDue(now); due !== undefined; due = this.#due.takeDue(now)) {
      if (due.kind === 'session') this.#sessionEnded(due, now);
      else this.#timeUp(due, now);
    }
  }

  /** A dead-letter queue takes a message over from its queue; the sequence number stays. */
  receiveDead(message: Message): void {
    this.#store({ ...message, expiresAt: Infinity }, 'ready');
  }

  #timeUp(entry: Entry, now: number): void {
    switch (entry.place.kind) {
      case 'scheduled':
        this.#activate(entry);
        break;
      case 'ready':
        this.#expire(entry);
        break;
      case 'locked':
        this.#lockEnded(entry, now);
        break;
      case 'deferred':
        break;
    }
  }

  #activate(entry: Entry): void {
    this.#drop(entry);
    const enqueuedAt = entry.message.scheduledFor ?? entry.message.enqueuedAt;
    const expiresAt = this.#expiryFrom(enqueuedAt, entry.message);
    this.#store({ ...entry.message, sequenceNumber: this.nextSequence++, enqueuedAt, expiresAt }, 'ready');
  }

  #lockEnded(entry: Entry, now: number): void {
    this.counters.lockExpiries++;
    this.#giveBack(entry, now);
  }

  #sessionEnded(session: Session, now: number): void {
    const { holder } = session;
    this.counters.lockExpiries++;
    this.#freeSession(session, now);
    if (holder !== undefined) this.onSessionLost(holder);
  }

  #freeSession(session: Session, now: number): void {
    session.holder = undefined;
    session.dueAt = Infinity;
    for (const entry of session.locked) this.#giveBack(entry, now);
    if (this.#shelf.firstReady(session) !== undefined) this.onReady();
  }

  /** A delivery has failed: the message falls back, or is dead if this was its last chance. */
  #giveBack(entry: Entry, now: number): void {
    if (entry.place.kind !== 'locked') return;
    const { fallsBackTo } = entry.place;
    const { maxDeliveryCount } = this.rules;
    entry.message.deliveryCount++;
    if (entry.message.deliveryCount >= maxDeliveryCount) {
      const description = `Message could not be consumed after ${maxDeliveryCount} delivery attempts.`;
      this.#kill(entry, { reason: 'MaxDeliveryCountExceeded', description });
    } else if (fallsBackTo === 'ready' && entry.message.expiresAt <= now) {
      this.#expire(entry);
    } else {
      this.#rest(entry, fallsBackTo);
    }
  }

  #expire(entry: Entry): void {
    if (this.rules.deadLetterOnExpiry) {
      const description = 'The message expired and was dead lettered.';
      this.#kill(entry, { reason: 'TTLExpiredException', description });
    } else {
      this.#drop(entry);
    }
  }

  #kill(entry: Entry, cause: DeadLetterCause): void {
    if (this.deadLetters === undefined) {
      // A dead letter that is dead-lettered stays where it is.
      this.#rest(entry, 'ready');
      return;
    }
    this.#drop(entry);
    this.deadLetters.receiveDead({ ...entry.message, deadLetter: { ...cause, source: this.name } });
  }

  #lock(
    entry: Entry,
    now: number,
    fallsBackTo: 'ready' | 'deferred',
    session: Session | undefined,
  ): Delivery {
    this.counters.received++;
    const token = randomUUID();
    const until = session === undefined ? now + this.rules.lockMs : session.dueAt;
    this.#shelf.lock(entry, { kind: 'locked', token, until, fallsBackTo, session });
    // Under a session it is the session's lock that ends.
    this.#due.set(entry, session === undefined ? until : Infinity);
    return { message: entry.message, token, lockedUntil: until };
  }

  #take(entry: Entry | undefined): Message | undefined {
    if (entry === undefined) return undefined;
    this.counters.received++;
    this.#drop(entry);
    return entry.message;
  }

  #nextReady(now: number, sessionId: string | undefined): Entry | undefined {
    this.advance(now);
    const lane = this.#shelf.laneFor(sessionId);
    return lane === undefined ? undefined : this.#shelf.takeReady(lane);
  }

  #deferred(sequenceNumber: number, now: number): Entry | undefined {
    this.advance(now);
    const entry = this.#shelf.byNumber(sequenceNumber);
    if (entry?.place.kind !== 'deferred') return undefined;
    // A deferred message expires only when someone asks for it
    // (https://learn.microsoft.com/azure/service-bus-messaging/message-deferral).
    if (entry.message.expiresAt > now) return entry;
    this.#expire(entry);
    return undefined;
  }

  #store(message: Message, place: RestingPlace): void {
    this.#journal.put(this.name, message, place);
    this.#settleIn(this.#shelf.add(message, place), place);
  }

  #rest(entry: Entry, place: RestingPlace): void {
    this.#journal.put(this.name, entry.message, place);
    this.#shelf.rest(entry, place);
    this.#settleIn(entry, place);
  }

  #drop(entry: Entry): void {
    this.#journal.remove(this.name, entry.message.sequenceNumber);
    this.#shelf.remove(entry);
  }

  #settleIn(entry: Entry, place: RestingPlace): void {
    const { expiresAt, scheduledFor, enqueuedAt } = entry.message;
    switch (place) {
      case 'ready':
        this.#due.set(entry, expiresAt);
        this.onReady();
        break;
      case 'scheduled':
        this.#due.set(entry, scheduledFor ?? enqueuedAt);
        break;
      case 'deferred':
        this.#due.set(entry, Infinity);
        break;
    }
  }

  #isDuplicate({ messageId }: IncomingMessage, now: number): boolean {
    const windowMs = this.rules.duplicateWindowMs;
    if (this.#seen === undefined || windowMs === undefined) return false;
    if (!this.#seen.remember(messageId, now)) {
      this.counters.duplicatesDropped++;
      return true;
    }
    this.#journal.rememberId(this.name, messageId, now, now - windowMs);
    return false;
  }

  #expiryFrom(enqueuedAt: number, { timeToLive = Infinity }: IncomingMessage): number {
    return enqueuedAt + Math.min(timeToLive, this.rules.timeToLiveMs);
  }
}
