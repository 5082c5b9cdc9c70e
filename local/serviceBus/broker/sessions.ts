import { MinHeap } from './minHeap.ts';

/** What a lane holds must have a place in its order. */
interface Ordered {
  message: { sequenceNumber: number };
}

/** Messages ready to be received, in the order of their sequence numbers. A queue without sessions has one lane. */
export interface Lane<Entry extends Ordered> {
  ready: MinHeap<Entry>;
}

export function lane<Entry extends Ordered>(): Lane<Entry> {
  return { ready: new MinHeap((entry) => entry.message.sequenceNumber) };
}

/**
 * A session: a lane that only one receiver may use at a time. It is free (`holder` undefined) or locked until `dueAt`;
 * accepting locks it, renewing moves `dueAt`, releasing or the end of the lock frees it and gives back what its holder
 * had not settled.
 */
export interface Session<Entry extends Ordered> extends Lane<Entry> {
  kind: 'session';
  id: string;
  state: Buffer | null;
  /** Who holds the lock: the name of a link, unique in the process. */
  holder: string | undefined;
  /** Epoch milliseconds at which the lock ends; Infinity while it is free. */
  dueAt: number;
  locked: Set<Entry>;
}

export function session<Entry extends Ordered>(id: string, state: Buffer | null): Session<Entry> {
  return {
    ...lane<Entry>(),
    kind: 'session',
    id,
    state,
    holder: undefined,
    dueAt: Infinity,
    locked: new Set(),
  };
}

export type SessionAcceptance =
  | { outcome: 'accepted'; sessionId: string; until: number }
  /** Someone else holds the session that was asked for. */
  | { outcome: 'taken' }
  /** Any session would do, but none that is free has a message. */
  | { outcome: 'noneFree' };
