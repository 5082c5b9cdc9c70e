import type { Entry, Lane, Locked } from './entry.ts';
import type { RestingPlace } from './journal.ts';
import type { Message } from './message.ts';
import { newLane, type Sessions } from './sessions.ts';

/** The entries of a queue, each in exactly one place. Indexed by sequence number, lock token and lane. */
export class Shelf {
  readonly counts: Record<RestingPlace | 'locked', number> = {
    ready: 0,
    locked: 0,
    scheduled: 0,
    deferred: 0,
  };
  readonly #byNumber = new Map<number, Entry>();
  readonly #byToken = new Map<string, Entry>();
  readonly #mainLane: Lane = newLane();
  /** Undefined if the queue has no sessions. */
  readonly #sessions: Sessions | undefined;

  constructor(sessions: Sessions | undefined) {
    this.#sessions = sessions;
  }

  all(): IterableIterator<Entry> {
    return this.#byNumber.values();
  }

  byNumber(sequenceNumber: number): Entry | undefined {
    return this.#byNumber.get(sequenceNumber);
  }

  byToken(token: string): Entry | undefined {
    return this.#byToken.get(token);
  }

  underLock(): Entry[] {
    return [...this.#byToken.values()];
  }

  add(message: Message, place: RestingPlace): Entry {
    const entry: Entry = { kind: 'message', message, place: { kind: place }, dueAt: Infinity };
    this.#byNumber.set(message.sequenceNumber, entry);
    this.counts[place]++;
    if (place === 'ready') this.laneOf(message).ready.push(entry);
    return entry;
  }

  rest(entry: Entry, place: RestingPlace): void {
    this.#leave(entry);
    entry.place = { kind: place };
    this.counts[place]++;
    if (place === 'ready') this.laneOf(entry.message).ready.push(entry);
  }

  lock(entry: Entry, lock: Locked): void {
    this.#leave(entry);
    entry.place = lock;
    this.counts.locked++;
    this.#byToken.set(lock.token, entry);
    lock.session?.locked.add(entry);
  }

  remove(entry: Entry): void {
    this.#leave(entry);
    this.#byNumber.delete(entry.message.sequenceNumber);
    entry.dueAt = Infinity;
  }

  /** A session's lane, or without an id the main lane. Undefined if the session is unknown. */
  laneFor(sessionId: string | undefined): Lane | undefined {
    return sessionId === undefined ? this.#mainLane : this.#sessions?.get(sessionId);
  }

  laneOf({ sessionId }: Message): Lane {
    return this.#sessions === undefined || sessionId === undefined
      ? this.#mainLane
      : this.#sessions.getOrCreate(sessionId);
  }

  /** The first ready entry of a lane. Discards stale heap entries, which left other than from the front. */
  firstReady(lane: Lane): Entry | undefined {
    for (let first = lane.ready.peek(); first !== undefined; first = lane.ready.peek()) {
      if (first.place.kind === 'ready' && this.#byNumber.get(first.message.sequenceNumber) === first)
        return first;
      lane.ready.pop();
    }
    return undefined;
  }

  takeReady(lane: Lane): Entry | undefined {
    const entry = this.firstReady(lane);
    if (entry !== undefined) lane.ready.pop();
    return entry;
  }

  #leave(entry: Entry): void {
    const { place } = entry;
    this.counts[place.kind]--;
    if (place.kind !== 'locked') return;
    this.#byToken.delete(place.token);
    place.session?.locked.delete(entry);
  }
}
