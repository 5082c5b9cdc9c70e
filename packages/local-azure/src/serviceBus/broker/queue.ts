/** A queue as its clients use it. moves.ts has the message states and the transitions between them. */
import type { EntityConfig } from '../config.ts';
import { DuplicateHistory } from './duplicates.ts';
import type { Entry } from './entry.ts';
import type { Journal, RestingPlace } from './journal.ts';
import type { Delivery, IncomingMessage, Message } from './message.ts';
import { Moves } from './moves.ts';
import type { QueueRules } from './rules.ts';
import { SessionLocks } from './sessionLocks.ts';
import { Sessions } from './sessions.ts';
import { NoDeadLetters, type Settlement } from './settlement.ts';

export interface PeekedMessage {
  message: Message;
  place: RestingPlace | 'locked';
}

export class Queue {
  readonly name: string;
  readonly rules: QueueRules;
  readonly kind: EntityConfig['kind'] | 'deadLetters';
  readonly deadLetters: Queue | undefined;
  readonly sessionLocks: SessionLocks;
  /** Called when a message becomes ready, or a session with messages becomes free. */
  onReady: () => void = () => {};
  /** Called when a session's lock expires while held. */
  onSessionLost: (holder: string) => void = () => {};
  /** Called with a new earliest due time. */
  onDue: (at: number) => void = () => {};
  /** Called with a message that became ready. True if it was passed on to others, and so is gone. */
  forward: (message: Message) => boolean = () => false;

  readonly #journal: Journal;
  readonly #sessions = new Sessions();
  readonly #moves: Moves;
  readonly #seen: DuplicateHistory | undefined;

  constructor(
    name: string,
    rules: QueueRules,
    journal: Journal,
    deadLetters?: Queue,
    kind: Queue['kind'] = deadLetters === undefined ? 'deadLetters' : 'queue',
  ) {
    this.kind = kind;
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
        forward: (message) => this.forward(message),
      },
    });
    this.sessionLocks = new SessionLocks({
      queue: name,
      rules,
      journal,
      sessions: this.#sessions,
      moves: this.#moves,
    });
    if (rules.duplicateWindowMs !== undefined) this.#seen = new DuplicateHistory(rules.duplicateWindowMs);
  }

  /** Totals since the start. */
  get counters(): Moves['counters'] {
    return this.#moves.counters;
  }

  /** Messages now in each place. */
  get counts(): Readonly<Record<RestingPlace | 'locked', number>> {
    return this.#moves.shelf.counts;
  }

  /**
   * Stores a message and returns its sequence number. Undefined if it was dropped as a duplicate.
   *
   * @param waited it comes from another queue or topic, and its schedule is one that it has waited for
   */
  enqueue(
    incoming: IncomingMessage & Partial<Pick<Message, 'deadLetter'>>,
    now: number,
    waited = false,
  ): number | undefined {
    this.advance(now);
    if (this.#isDuplicate(incoming, now)) return undefined;
    this.#moves.counters.sent++;
    const scheduled = incoming.scheduledFor !== undefined && incoming.scheduledFor > now;
    const message: Message = {
      ...incoming,
      // A message that need not wait is like one without a schedule: it is active at once, and says so when it is received.
      scheduledFor: scheduled || waited ? incoming.scheduledFor : undefined,
      sequenceNumber: this.#moves.nextSequence++,
      enqueuedAt: now,
      expiresAt: this.#moves.expiryFrom(now, incoming),
      deliveryCount: 0,
      deadLetter: incoming.deadLetter,
    };
    this.#moves.store(message, scheduled ? 'scheduled' : 'ready');
    return message.sequenceNumber;
  }

  /** Passes on what is ready, after a restart or a change of the rules. */
  forwardReady(): void {
    const entries = [...this.#moves.shelf.all()];
    for (const entry of entries)
      if (entry.place.kind === 'ready' && this.forward(entry.message)) this.#moves.drop(entry);
  }

  /** Puts back a stored message after a restart. */
  restore(message: Message, place: RestingPlace): void {
    this.continueFrom(message.sequenceNumber + 1);
    this.#moves.settleIn(this.#moves.shelf.add(message, place), place);
  }

  /** Makes `next` the lowest sequence number that new messages can get. */
  continueFrom(next: number): void {
    this.#moves.nextSequence = Math.max(this.#moves.nextSequence, next);
  }

  restoreId(messageId: string, at: number): void {
    this.#seen?.remember(messageId, at);
  }

  /** Removes a scheduled message. False if none has that number. */
  cancelScheduled(sequenceNumber: number, now: number): boolean {
    this.advance(now);
    const entry = this.#moves.shelf.byNumber(sequenceNumber);
    if (entry?.place.kind !== 'scheduled') return false;
    this.#moves.drop(entry);
    return true;
  }

  /** True if a message is ready to lock or take. */
  hasReady(now: number, sessionId?: string): boolean {
    this.advance(now);
    const lane = this.#moves.shelf.laneFor(sessionId);
    return lane !== undefined && this.#moves.shelf.firstReady(lane) !== undefined;
  }

  /** Locks the next ready message, of `sessionId` if the caller has accepted that session. */
  lockNext(now: number, sessionId?: string): Delivery | undefined {
    const entry = this.#nextReady(now, sessionId);
    const session = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    return entry === undefined ? undefined : this.#moves.lock(entry, now, 'ready', session);
  }

  /** Receive and delete: removes the next ready message. */
  takeNext(now: number, sessionId?: string): Message | undefined {
    return this.#take(this.#nextReady(now, sessionId));
  }

  /** Locks a deferred message. Undefined if none has that number, or it has expired. */
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

  /** The message locked by `token`. Undefined if the lock is gone. */
  lockedMessage(token: string, now: number): Message | undefined {
    this.advance(now);
    return this.#moves.shelf.byToken(token)?.message;
  }

  /** Settles a locked message. False if the lock is gone. @throws {NoDeadLetters} for a dead letter that is to die again */
  settle(token: string, settlement: Settlement, now: number): boolean {
    this.advance(now);
    const entry = this.#moves.shelf.byToken(token);
    if (entry === undefined) return false;
    if (settlement.kind === 'deadLetter' && this.deadLetters === undefined)
      throw new NoDeadLetters(this.name);
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
        this.#moves.defer(entry);
        break;
      case 'deadLetter':
        this.#moves.kill(entry, settlement.cause);
        break;
    }
    return true;
  }

  /** Renews a lock and returns its new expiry in epoch milliseconds. Undefined if the lock is gone. */
  renew(token: string, now: number): number | undefined {
    this.advance(now);
    const entry = this.#moves.shelf.byToken(token);
    if (entry?.place.kind !== 'locked') return undefined;
    if (entry.place.session !== undefined) return entry.place.session.dueAt;
    entry.place.until = now + this.rules.lockMs;
    this.#moves.due.set(entry, entry.place.until);
    return entry.place.until;
  }

  /** Up to `count` messages in any state, from sequence number `from`, without locking them. */
  peek(from: number, count: number, sessionId: string | undefined, now: number): PeekedMessage[] {
    this.advance(now);
    return [...this.#moves.shelf.all()]
      .filter(({ message }) => message.sequenceNumber >= from)
      .filter(({ message }) => sessionId === undefined || message.sessionId === sessionId)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count)
      .map(({ message, place }) => ({ message, place: place.kind }));
  }

  /** Deletes up to `count` ready messages enqueued by `enqueuedUntil`, oldest first. Returns how many. */
  deleteReady(count: number, enqueuedUntil: number, now: number): number {
    this.advance(now);
    const chosen = [...this.#moves.shelf.all()]
      .filter(({ place, message }) => place.kind === 'ready' && message.enqueuedAt <= enqueuedUntil)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count);
    for (const entry of chosen) this.#moves.drop(entry);
    return chosen.length;
  }

  /** Expires every message and session lock now, or only that of one session. Returns how many there were. */
  expireLocks(now: number, sessionId?: string): number {
    this.advance(now);
    if (sessionId !== undefined) {
      const session = this.#sessions.get(sessionId);
      if (session?.holder === undefined) return 0;
      this.#moves.sessionEnded(session, now);
      return 1;
    }
    const entries = this.#moves.shelf.underLock().filter(({ dueAt }) => dueAt < Infinity);
    for (const entry of entries) this.#moves.lockEnded(entry, now);
    const sessions = this.#sessions.held();
    for (const session of sessions) this.#moves.sessionEnded(session, now);
    return entries.length + sessions.length;
  }

  /** The next due time, or an earlier one. */
  nextDue(): number {
    return this.#moves.due.next();
  }

  /** Applies every schedule, expiry and lock timeout due by `now`. */
  advance(now: number): void {
    this.#moves.advance(now);
  }

  /** Takes a dead letter from the parent queue. It keeps its sequence number. */
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
    // A deferred message expires only when a receiver asks for it
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
