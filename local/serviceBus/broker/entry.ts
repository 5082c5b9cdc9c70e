import type { RestingPlace } from './journal.ts';
import type { Message } from './message.ts';
import type { MinHeap } from './minHeap.ts';

/** A message on its way through a queue; queue.ts says how it moves. */
export interface Entry {
  kind: 'message';
  message: Message;
  place: { kind: RestingPlace } | Locked;
  /** When time moves it next: schedule, expiry or end of lock. Infinity: never. */
  dueAt: number;
}

export interface Locked {
  kind: 'locked';
  token: string;
  until: number;
  fallsBackTo: 'ready' | 'deferred';
  /** The session under whose lock it was received. */
  session: Session | undefined;
}

/** Messages ready to be received, in the order of their sequence numbers. A queue without sessions has one lane. */
export interface Lane {
  ready: MinHeap<Entry>;
}

/**
 * A lane that only one receiver may use at a time. It is free (`holder` undefined) or locked until `dueAt`: accepting
 * locks it, renewing moves `dueAt`, releasing or the end of the lock frees it and gives back what its holder had not
 * settled.
 */
export interface Session extends Lane {
  kind: 'session';
  id: string;
  state: Buffer | null;
  /** Who holds the lock, by a name unique in the process. */
  holder: string | undefined;
  /** Epoch milliseconds at which the lock ends; Infinity while it is free. */
  dueAt: number;
  locked: Set<Entry>;
}
