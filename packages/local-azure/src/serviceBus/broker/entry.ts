import type { RestingPlace } from './journal.ts';
import type { Message } from './message.ts';
import type { MinHeap } from './minHeap.ts';

/** A message and its place in a queue. moves.ts defines how it moves. */
export interface Entry {
  kind: 'message';
  message: Message;
  place: { kind: RestingPlace } | Locked;
  /** When its schedule, time to live or lock next falls due. Infinity: never. */
  dueAt: number;
}

export interface Locked {
  kind: 'locked';
  token: string;
  until: number;
  fallsBackTo: 'ready' | 'deferred';
  /** The session whose lock covers it. */
  session: Session | undefined;
}

/** Ready messages in order of sequence number. A queue without sessions has one lane. */
export interface Lane {
  ready: MinHeap<Entry>;
}

/**
 * A lane that only one receiver may use at a time. It is free (`holder` undefined) or locked until `dueAt`.
 * Accepting locks it, renewing moves `dueAt`. Release or expiry frees it and returns the messages that the
 * holder has not settled.
 */
export interface Session extends Lane {
  kind: 'session';
  id: string;
  state: Buffer | null;
  /** Identifies the lock's holder, unique within the process. */
  holder: string | undefined;
  /** When the lock expires, in epoch milliseconds. Infinity while free. */
  dueAt: number;
  locked: Set<Entry>;
}
