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
import { DuplicateHistory } from './duplicates.ts';
import type { Journal, RestingPlace } from './journal.ts';
import type { DeadLetterCause, IncomingMessage, Message } from './message.ts';
import { MinHeap } from './minHeap.ts';
import { type Lane, lane, type Session, type SessionAcceptance, session } from './sessions.ts';

export interface QueueRules {
  /** Milliseconds a message or a session stays locked. */
  lockMs: number;
  /** Failed deliveries after which a message is dead-lettered. */
  maxDeliveryCount: number;
  /** Longest time to live in milliseconds; Infinity for none. */
  timeToLiveMs: number;
  deadLetterOnExpiry: boolean;
  requiresSession: boolean;
  /** Undefined: no duplicate detection. */
  duplicateWindowMs: number | undefined;
}

interface Locked {
  kind: 'locked';
  token: string;
  until: number;
  fallsBackTo: 'ready' | 'deferred';
  session: Session<Entry> | undefined;
}

interface Entry {
  kind: 'message';
  message: Message;
  place: { kind: RestingPlace } | Locked;
  /** When time moves it next: schedule, expiry or end of lock. Infinity: never. */
  dueAt: number;
}

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

export interface QueueCounters {
  sent: number;
  received: number;
  completed: number;
  abandoned: number;
  duplicatesDropped: number;
  lockExpiries: number;
}

export type Settlement =
  | { kind: 'complete' }
  | { kind: 'abandon'; bare?: Buffer }
  | { kind: 'defer'; bare?: Buffer }
  | { kind: 'deadLetter'; cause: DeadLetterCause; bare?: Buffer };

export class Queue {
  readonly name: string;
  readonly rules: QueueRules;
  readonly counters: QueueCounters = {
    sent: 0,
    received: 0,
    completed: 0,
    abandoned: 0,
    duplicatesDropped: 0,
    lockExpiries: 0,
  };
  readonly counts: Record<RestingPlace | 'locked', number> = {
    ready: 0,
    locked: 0,
    scheduled: 0,
    deferred: 0,
  };
  readonly deadLetters: Queue | undefined;
  /** Told when a message became ready, or a session with messages free. */
  onReady: () => void = () => {};
  /** Told when a session's lock ran out under its holder. */
  onSessionLost: (holder: string) => void = () => {};
  /** Told when something is due earlier than anything before. */
  onDue: (at: number) => void = () => {};
  nextSequence = 1;

  readonly #journal: Journal;
  readonly #entries = new Map<number, Entry>();
  readonly #tokens = new Map<string, Entry>();
  readonly #sessions = new Map<string, Session<Entry>>();
  readonly #lane: Lane<Entry> = lane();
  readonly #due = new MinHeap<{ at: number; subject: Entry | Session<Entry> }>(({ at }) => at);
  readonly #seen: DuplicateHistory | undefined;

  constructor(name: string, rules: QueueRules, journal: Journal, deadLetters?: Queue) {
    this.name = name;
    this.rules = rules;
    this.deadLetters = deadLetters;
    this.#journal = journal;
    if (rules.duplicateWindowMs !== undefined) this.#seen = new DuplicateHistory(rules.duplicateWindowMs);
  }

  /** Stores a message; undefined when its id was seen within the window: then it is dropped. */
  enqueue(incoming: IncomingMessage, now: number): number | undefined {
    this.advance(now);
    const windowMs = this.rules.duplicateWindowMs;
    if (this.#seen !== undefined && windowMs !== undefined) {
      if (!this.#seen.remember(incoming.messageId, now)) {
        this.counters.duplicatesDropped++;
        return undefined;
      }
      this.#journal.rememberId(this.name, incoming.messageId, now, now - windowMs);
    }
    this.counters.sent++;
    const scheduled = incoming.scheduledFor !== undefined && incoming.scheduledFor > now;
    const message: Message = {
      ...incoming,
      sequenceNumber: this.nextSequence++,
      enqueuedAt: now,
      expiresAt: this.#expiryFrom(now, incoming),
      deliveryCount: 0,
      deadLetter: undefined,
    };
    this.#insert(message, scheduled ? 'scheduled' : 'ready');
    this.#journal.put(this.name, message, scheduled ? 'scheduled' : 'ready');
    return message.sequenceNumber;
  }

  /** Puts back what a store had kept. */
  restore(message: Message, place: RestingPlace): void {
    this.nextSequence = Math.max(this.nextSequence, message.sequenceNumber + 1);
    this.#insert(message, place);
  }

  restoreId(messageId: string, at: number): void {
    this.#seen?.remember(messageId, at);
  }

  restoreSessionState(sessionId: string, state: Buffer): void {
    this.#session(sessionId).state = state;
  }

  /** Removes a scheduled message; false when there is none with that number. */
  cancelScheduled(sequenceNumber: number, now: number): boolean {
    this.advance(now);
    const entry = this.#entries.get(sequenceNumber);
    if (entry?.place.kind !== 'scheduled') return false;
    this.#drop(entry);
    return true;
  }

  /** Whether there is a message to lock or take. */
  hasReady(now: number, sessionId?: string): boolean {
    this.advance(now);
    const held = sessionId === undefined ? this.#lane : this.#sessions.get(sessionId);
    return held !== undefined && this.#firstReady(held) !== undefined;
  }

  /** Locks the next ready message, or the next of a session that `holder` has accepted. */
  lockNext(now: number, sessionId?: string): Delivery | undefined {
    this.advance(now);
    const held = sessionId === undefined ? undefined : this.#sessions.get(sessionId);
    const entry = this.#nextReady(held ?? this.#lane);
    return entry === undefined ? undefined : this.#lock(entry, now, 'ready', held);
  }

  /** Receive and delete: the next ready message leaves the queue at once. */
  takeNext(now: number, sessionId?: string): Message | undefined {
    this.advance(now);
    const entry = this.#nextReady(
      sessionId === undefined ? this.#lane : (this.#sessions.get(sessionId) ?? this.#lane),
    );
    if (entry === undefined) return undefined;
    this.counters.received++;
    this.#drop(entry);
    return entry.message;
  }

  /** Locks a deferred message; undefined when no deferred message has that number, or it has expired. */
  lockDeferred(sequenceNumber: number, now: number): Delivery | undefined {
    const entry = this.#deferred(sequenceNumber, now);
    if (entry === undefined) return undefined;
    const { sessionId } = entry.message;
    const held =
      this.rules.requiresSession && sessionId !== undefined ? this.#sessions.get(sessionId) : undefined;
    return this.#lock(entry, now, 'deferred', held);
  }

  takeDeferred(sequenceNumber: number, now: number): Message | undefined {
    const entry = this.#deferred(sequenceNumber, now);
    if (entry === undefined) return undefined;
    this.counters.received++;
    this.#drop(entry);
    return entry.message;
  }

  /** The message under a live lock. */
  lockedMessage(token: string, now: number): Message | undefined {
    this.advance(now);
    return this.#tokens.get(token)?.message;
  }

  /** Ends a lock as its holder asks; false when the lock is no longer there. */
  settle(token: string, settlement: Settlement, now: number): boolean {
    this.advance(now);
    const entry = this.#tokens.get(token);
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
        this.#journal.put(this.name, entry.message, 'deferred');
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
    const entry = this.#tokens.get(token);
    if (entry?.place.kind !== 'locked') return undefined;
    if (entry.place.session !== undefined) return entry.place.session.dueAt;
    entry.place.until = now + this.rules.lockMs;
    this.#track(entry, entry.place.until);
    return entry.place.until;
  }

  /** Up to `count` messages from a sequence number on, whatever their state, without locking them. */
  peek(from: number, count: number, sessionId: string | undefined, now: number): PeekedMessage[] {
    this.advance(now);
    return [...this.#entries.values()]
      .filter(({ message }) => message.sequenceNumber >= from)
      .filter(({ message }) => sessionId === undefined || message.sessionId === sessionId)
      .sort((a, b) => a.message.sequenceNumber - b.message.sequenceNumber)
      .slice(0, count)
      .map(({ message, place }) => ({ message, place: place.kind }));
  }

  /** Deletes up to `count` ready messages that came before a time, oldest first. */
  deleteReady(count: number, enqueuedBefore: number, now: number): number {
    this.advance(now);
    const chosen = [...this.#entries.values()]
      .filter(({ place, message }) => place.kind === 'ready' && message.enqueuedAt <= enqueuedBefore)
      .slice(0, count);
    for (const entry of chosen) this.#drop(entry);
    return chosen.length;
  }

  /** Locks a session for `holder`; without an id, the free session whose first message is the oldest. */
  acceptSession(sessionId: string | undefined, holder: string, now: number): SessionAcceptance {
    this.advance(now);
    const chosen = sessionId === undefined ? this.#oldestFreeSession() : this.#session(sessionId);
    if (chosen === undefined) return { outcome: 'noneFree' };
    if (chosen.holder !== undefined) return { outcome: 'taken' };
    chosen.holder = holder;
    this.#track(chosen, now + this.rules.lockMs);
    return { outcome: 'accepted', sessionId: chosen.id, until: chosen.dueAt };
  }

  /** Prolongs a session's lock; undefined when nobody holds it. */
  renewSession(sessionId: string, now: number): number | undefined {
    this.advance(now);
    const held = this.#sessions.get(sessionId);
    if (held?.holder === undefined) return undefined;
    this.#track(held, now + this.rules.lockMs);
    return held.dueAt;
  }

  /** Frees a session that `holder` has. */
  releaseSession(sessionId: string, holder: string, now: number): void {
    const held = this.#sessions.get(sessionId);
    if (held?.holder === holder) this.#freeSession(held, now);
  }

  isSessionHeldBy(sessionId: string, holder: string, now: number): boolean {
    this.advance(now);
    return this.#sessions.get(sessionId)?.holder === holder;
  }

  sessionState(sessionId: string): Buffer | null {
    return this.#sessions.get(sessionId)?.state ?? null;
  }

  setSessionState(sessionId: string, state: Buffer | null): void {
    this.#session(sessionId).state = state;
    this.#journal.putSessionState(this.name, sessionId, state);
  }

  /** Ends every lock now, as if its time had run out; says how many there were. */
  expireLocks(now: number): number {
    this.advance(now);
    const locked = [...this.#tokens.values()].filter(({ dueAt }) => dueAt < Infinity);
    for (const entry of locked) this.#lockEnded(entry, now);
    const held = [...this.#sessions.values()].filter(({ holder }) => holder !== undefined);
    for (const each of held) this.#sessionEnded(each, now);
    return locked.length + held.length;
  }

  /** When time next moves something here, or a little before. */
  nextDue(): number {
    return this.#due.peek()?.at ?? Infinity;
  }

  /** Lets time act: schedules, expiry and locks that are due by `now`. */
  advance(now: number): void {
    for (let next = this.#due.peek(); next !== undefined && next.at <= now; next = this.#due.peek()) {
      this.#due.pop();
      const { at, subject } = next;
      if (subject.dueAt !== at) continue;
      if (subject.kind === 'session') this.#sessionEnded(subject, now);
      else this.#timeUp(subject, now);
    }
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
    const message = {
      ...entry.message,
      sequenceNumber: this.nextSequence++,
      enqueuedAt,
      expiresAt: this.#expiryFrom(enqueuedAt, entry.message),
    };
    this.#insert(message, 'ready');
    this.#journal.put(this.name, message, 'ready');
  }

  #lockEnded(entry: Entry, now: number): void {
    this.counters.lockExpiries++;
    this.#giveBack(entry, now);
  }

  #sessionEnded(held: Session<Entry>, now: number): void {
    const { holder } = held;
    this.counters.lockExpiries++;
    this.#freeSession(held, now);
    if (holder !== undefined) this.onSessionLost(holder);
  }

  #freeSession(held: Session<Entry>, now: number): void {
    held.holder = undefined;
    held.dueAt = Infinity;
    for (const entry of held.locked) this.#giveBack(entry, now);
    if (this.#firstReady(held) !== undefined) this.onReady();
  }

  /** A delivery has failed: the message falls back, or is dead if this was its last chance. */
  #giveBack(entry: Entry, now: number): void {
    if (entry.place.kind !== 'locked') return;
    const { fallsBackTo } = entry.place;
    entry.message.deliveryCount++;
    if (entry.message.deliveryCount >= this.rules.maxDeliveryCount) {
      this.#kill(entry, {
        reason: 'MaxDeliveryCountExceeded',
        description: `Message could not be consumed after ${this.rules.maxDeliveryCount} delivery attempts.`,
      });
    } else if (fallsBackTo === 'ready' && entry.message.expiresAt <= now) {
      this.#expire(entry);
    } else {
      this.#rest(entry, fallsBackTo);
      this.#journal.put(this.name, entry.message, fallsBackTo);
    }
  }

  #expire(entry: Entry): void {
    if (this.rules.deadLetterOnExpiry) {
      this.#kill(entry, {
        reason: 'TTLExpiredException',
        description: 'The message expired and was dead lettered.',
      });
    } else {
      this.#drop(entry);
    }
  }

  #kill(entry: Entry, cause: DeadLetterCause): void {
    this.#drop(entry);
    this.deadLetters?.receiveDead({ ...entry.message, deadLetter: { ...cause, source: this.name } });
  }

  /** A dead-letter queue takes a message over from its queue; the sequence number stays. */
  receiveDead(message: Message): void {
    message.expiresAt = Infinity;
    this.#insert(message, 'ready');
    this.#journal.put(this.name, message, 'ready');
  }

  #lock(
    entry: Entry,
    now: number,
    fallsBackTo: 'ready' | 'deferred',
    held: Session<Entry> | undefined,
  ): Delivery {
    this.counters.received++;
    const token = randomUUID();
    const until = held === undefined ? now + this.rules.lockMs : held.dueAt;
    this.#move(entry, { kind: 'locked', token, until, fallsBackTo, session: held });
    this.#tokens.set(token, entry);
    held?.locked.add(entry);
    // Under a session it is the session's lock that ends.
    this.#track(entry, held === undefined ? until : Infinity);
    return { message: entry.message, token, lockedUntil: until };
  }

  #deferred(sequenceNumber: number, now: number): Entry | undefined {
    this.advance(now);
    const entry = this.#entries.get(sequenceNumber);
    if (entry?.place.kind !== 'deferred') return undefined;
    // A deferred message expires only when someone asks for it
    // (https://learn.microsoft.com/azure/service-bus-messaging/message-deferral).
    if (entry.message.expiresAt > now) return entry;
    this.#expire(entry);
    return undefined;
  }

  #insert(message: Message, place: RestingPlace): void {
    const entry: Entry = { kind: 'message', message, place: { kind: place }, dueAt: Infinity };
    this.#entries.set(message.sequenceNumber, entry);
    this.counts[place]++;
    this.#rest(entry, place);
  }

  #rest(entry: Entry, place: RestingPlace): void {
    this.#move(entry, { kind: place });
    const { message } = entry;
    switch (place) {
      case 'ready':
        this.#track(entry, message.expiresAt);
        this.#laneOf(message).ready.push(entry);
        this.onReady();
        break;
      case 'scheduled':
        this.#track(entry, message.scheduledFor ?? message.enqueuedAt);
        break;
      case 'deferred':
        this.#track(entry, Infinity);
        break;
    }
  }

  #move(entry: Entry, place: Entry['place']): void {
    if (entry.place.kind === 'locked') {
      this.#tokens.delete(entry.place.token);
      entry.place.session?.locked.delete(entry);
    }
    this.counts[entry.place.kind]--;
    this.counts[place.kind]++;
    entry.place = place;
  }

  #drop(entry: Entry): void {
    if (entry.place.kind === 'locked') {
      this.#tokens.delete(entry.place.token);
      entry.place.session?.locked.delete(entry);
    }
    this.counts[entry.place.kind]--;
    this.#entries.delete(entry.message.sequenceNumber);
    entry.dueAt = Infinity;
    this.#journal.remove(this.name, entry.message.sequenceNumber);
  }

  #nextReady(from: Lane<Entry>): Entry | undefined {
    const entry = this.#firstReady(from);
    if (entry !== undefined) from.ready.pop();
    return entry;
  }

  /** The first ready message of a lane; what has left it some other way is cleared here. */
  #firstReady(from: Lane<Entry>): Entry | undefined {
    for (let first = from.ready.peek(); first !== undefined; first = from.ready.peek()) {
      if (first.place.kind === 'ready' && this.#entries.get(first.message.sequenceNumber) === first)
        return first;
      from.ready.pop();
    }
    return undefined;
  }

  #laneOf({ sessionId }: Message): Lane<Entry> {
    return this.rules.requiresSession && sessionId !== undefined ? this.#session(sessionId) : this.#lane;
  }

  #session(id: string): Session<Entry> {
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    const created = session<Entry>(id, null);
    this.#sessions.set(id, created);
    return created;
  }

  #oldestFreeSession(): Session<Entry> | undefined {
    let oldest: { session: Session<Entry>; sequence: number } | undefined;
    for (const each of this.#sessions.values()) {
      const first = each.holder === undefined ? this.#firstReady(each) : undefined;
      if (first === undefined) continue;
      const sequence = first.message.sequenceNumber;
      if (oldest === undefined || sequence < oldest.sequence) oldest = { session: each, sequence };
    }
    return oldest?.session;
  }

  /** Notes when time next moves a message or a session. An earlier note goes stale: `dueAt` no longer agrees. */
  #track(subject: Entry | Session<Entry>, at: number): void {
    subject.dueAt = at;
    if (at === Infinity) return;
    this.#due.push({ at, subject });
    if (this.#due.size > 2 * (this.#entries.size + this.#sessions.size) + 1024) {
      this.#due.retain((note) => note.subject.dueAt === note.at);
    }
    if (this.nextDue() === at) this.onDue(at);
  }

  #expiryFrom(enqueuedAt: number, { timeToLive = Infinity }: IncomingMessage): number {
    return enqueuedAt + Math.min(timeToLive, this.rules.timeToLiveMs);
  }
}
