/** A queue as its clients use it. moves.ts has the states of a message and every move between them. */
import { DuplicateHistory } from './duplicates.ts';
import type { Entry } from './entry.ts';
import type { Journal, RestingPlace } from './journal.ts';
import type { DeadLetterCause, Delivery, IncomingMessage, Message } from './message.ts';
import { Moves } from './moves.ts';
import type { QueueRules } from './rules.ts';
import { Sessions } from './sessions.ts';

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

export class Queue {
  readonly name: string;
  readonly rules: QueueRules;
  readonly deadLetters: Queue | undefined;
  /** Told when a message became ready, or a session with messages free. */
  onReady: () => void = () => {};
  /** Told when a session's lock ran out under its holder. */
  onSessionLost: (holder: string) => void = () => {};
  /** Told when something is due earlier than all before. */
  onDue: (at: number) => void = () => {};

  readonly #journal: Journal;
  readonly #sessions = new Sessions();
  readonly #moves: Moves;
  readonly #seen: DuplicateHistory | undefined;

  constructor(name: string, rules: QueueRules, journal: Journal, deadLetters?: Queue) {
    this.name = name;
    this.rules = rules;
    this.deadLetters = deadLetters;
    this.#journal = journal;
    this.#moves = new Moves({
      name,
      rules,
      journal,
      deadLetters,
      sessions: this.#sessions,
      events: {
        ready: () => this.onReady(),
        sessionLost: (holder) => this.onSessionLost(holder),
        due: (at) => this.onDue(at),
      },
    });
    if (rules.duplicateWindowMs !== undefined) this.#seen = new DuplicateHistory(rules.duplicateWindowMs);
  }

  /** What has happened since the start. */
  get counters(): Moves['counters'] {
    return this.#moves.counters;
  }

  /** How many messages are in which place. */
  get counts(): Readonly<Record<RestingPlace | 'locked', number>> {
    return this.#moves.shelf.counts;
  }

  /** Stores a message and gives its number; undefined when its id was seen within the window: then it is dropped. */
  enqueue(incoming: IncomingMessage, now: number): number | undefined {
    this.advance(now);
    if (this.#isDuplicate(incoming, now)) return undefined;
    this.#moves.counters.sent++;
    const message: Message = {
      ...incoming,
      sequenceNumber: this.#moves.nextSequence++,
      enqueuedAt: now,
      expiresAt: this.#moves.expiryFrom(now, incoming),
      deliveryCount: 0,
      deadLetter: undefined,
    };
    const scheduled = incoming.scheduledFor !== undefined && incoming.scheduledFor > now;
    this.#moves.store(message, scheduled ? 'scheduled' : 'ready');
    return message.sequenceNumber;
  }

  /** Puts back what a store had kept. */
  restore(message: Message, place: RestingPlace): void {
    this.continueFrom(message.sequenceNumber + 1);
    this.#moves.settleIn(this.#moves.shelf.add(message, place), place);
  }

  /** Gives no sequence number below `next` from now on. */
  continueFrom(next: number): void {
    this.#moves.nextSequence = Math.max(this.#moves.nextSequence, next);
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
    const entry = this.#moves.shelf.byNumber(sequenceNumber);
    if (entry?.place.kind !== 'scheduled') return false;
    this.#moves.drop(entry);
    return true;
  }

  /** Whether there is a message to lock or take. */
  hasReady(now: number, sessionId?: string): boolean {
    this.advance(now);
    const lane = this.#moves.shelf.laneFor(sessionId);
    return lane !== undefined && this.#moves.shelf.firstReady(lane) !== undefined;
  }

  /** Locks the next ready message, or the next of a session that the caller has accepted. */
  lockNext(now: number, sessionId?: string): Delivery | undefined {
    const entry = this.#nextReady(now, sessionId);
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    return entry === undefined ? undefined : this.#moves.lock(entry, now, 'ready', session);
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
    return this.#moves.lock(entry, now, 'deferred', session?.holder === undefined ? undefined : session);
  }

  takeDeferred(sequenceNumber: number, now: number): Message | undefined {
    return this.#take(this.#deferred(sequenceNumber, now));
  }

  /** The message under a live lock. */
  lockedMessage(token: string, now: number): Message | undefined {
    this.advance(now);
    return this.#moves.shelf.byToken(token)?.message;
  }

  /** Ends a lock as its holder asks; false when the lock is no longer there. */
  settle(token: string, settlement: Settlement, now: number): boolean {
    this.advance(now);
    const entry = this.#moves.shelf.byToken(token);
    if (entry === undefined) return false;
    if (settlement.kind !== 'complete' && settlement.bare !== undefined) entry.message.bare = settlement.bare;
    switch (settlement.kind) {
      case 'complete':
        this.#moves.counters.completed++;
        this.#moves.drop(entry);
        break;
      case 'abandon':
        this.#moves.counters.abandoned++;
        this.#moves.giveBack(entry, now);
        break;
      case 'defer':
        this.#moves.rest(entry, 'deferred');
        break;
      case 'deadLetter':
        this.#moves.kill(entry, settlement.cause);
        break;
    }
    return true;
  }

  /** Prolongs a lock and says until when; undefined when it is no longer there. */
  renew(token: string, now: number): number | undefined {
    this.advance(now);
    const entry = this.#moves.shelf.byToken(token);
    if (entry?.place.kind !== 'locked') return undefined;
    if (entry.place.session !== undefined) return entry.place.session.dueAt;
    entry.place.until = now + this.rules.lockMs;
    this.#moves.due.set(entry, entry.place.until);
    return entry.place.until;
  }

  /** Up to `count` messages from a sequence number on, whatever their state, without locking them. */
  peek(from: number, count: number, sessionId: string | undefined, now: number): PeekedMessage[] {
    this.advance(now);
    return [...this.#moves.shelf.all()]
      .filter(({ message }) => message.sequenceNumber >= from)
      .filter(({ message }) => sessionId === undefined || message.sessionId === sessionId)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count)
      .map(({ message, place }) => ({ message, place: place.kind }));
  }

  /** Deletes up to `count` ready messages that came no later than a time, oldest first; says how many. */
  deleteReady(count: number, enqueuedUntil: number, now: number): number {
    this.advance(now);
    const chosen = [...this.#moves.shelf.all()]
      .filter(({ place, message }) => place.kind === 'ready' && message.enqueuedAt <= enqueuedUntil)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count);
    for (const entry of chosen) this.#moves.drop(entry);
    return chosen.length;
  }

  /** Locks a session for `holder`; without an id, the free session whose first message is the oldest. */
  acceptSession(sessionId: string | undefined, holder: string, now: number): SessionAcceptance {
    this.advance(now);
    const session =
      sessionId === undefined
        ? this.#sessions.oldestFree((each) => this.#moves.shelf.firstReady(each))
        : this.#sessions.getOrCreate(sessionId);
    if (session === undefined) return { outcome: 'noneFree' };
    if (session.holder !== undefined) return { outcome: 'taken' };
    session.holder = holder;
    this.#moves.due.set(session, now + this.rules.lockMs);
    return { outcome: 'accepted', sessionId: session.id, until: session.dueAt };
  }

  /** Prolongs a session's lock; undefined when nobody holds it. */
  renewSession(sessionId: string, now: number): number | undefined {
    this.advance(now);
    const session = this.#sessions.get(sessionId);
    if (session?.holder === undefined) return undefined;
    this.#moves.due.set(session, now + this.rules.lockMs);
    return session.dueAt;
  }

  /** Frees a session that `holder` has. */
  releaseSession(sessionId: string, holder: string, now: number): void {
    const session = this.#sessions.get(sessionId);
    if (session?.holder === holder) this.#moves.freeSession(session, now);
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
    const entries = this.#moves.shelf.underLock().filter(({ dueAt }) => dueAt < Infinity);
    for (const entry of entries) this.#moves.lockEnded(entry, now);
    const sessions = this.#sessions.held();
    for (const session of sessions) this.#moves.sessionEnded(session, now);
    return entries.length + sessions.length;
  }

  /** When time next moves something here, or a little before. */
  nextDue(): number {
    return this.#moves.due.next();
  }

  /** Lets time act: schedules, expiry and locks that are due by `now`. */
  advance(now: number): void {
    this.#moves.advance(now);
  }

  /** A dead-letter queue takes a message over from its queue; the sequence number stays. */
  receiveDead(message: Message): void {
    this.#moves.store({ ...message, expiresAt: Infinity }, 'ready');
  }

  #take(entry: Entry | undefined): Message | undefined {
    if (entry === undefined) return undefined;
    this.#moves.counters.received++;
    this.#moves.drop(entry);
    return entry.message;
  }

  #nextReady(now: number, sessionId: string | undefined): Entry | undefined {
    this.advance(now);
    const lane = this.#moves.shelf.laneFor(sessionId);
    return lane === undefined ? undefined : this.#moves.shelf.takeReady(lane);
  }

  #deferred(sequenceNumber: number, now: number): Entry | undefined {
    this.advance(now);
    const entry = this.#moves.shelf.byNumber(sequenceNumber);
    if (entry?.place.kind !== 'deferred') return undefined;
    // A deferred message expires only when someone asks for it
    // (https://learn.microsoft.com/azure/service-bus-messaging/message-deferral).
    if (entry.message.expiresAt > now) return entry;
    this.#moves.expire(entry);
    return undefined;
  }

  #isDuplicate({ messageId }: IncomingMessage, now: number): boolean {
    const windowMs = this.rules.duplicateWindowMs;
    if (this.#seen === undefined || windowMs === undefined) return false;
    if (!this.#seen.remember(messageId, now)) {
      this.#moves.counters.duplicatesDropped++;
      return true;
    }
    this.#journal.rememberId(this.name, messageId, now, now - windowMs);
    return false;
  }
}
