import type { Message } from './message.ts';

/** Where a message waits; a locked one is written as what it falls back to when its lock ends. */
export type RestingPlace = 'ready' | 'scheduled' | 'deferred';

/** What a queue tells its store. Each call takes effect with the next commit. */
export interface Journal {
  put(queue: string, message: Message, place: RestingPlace): void;
  remove(queue: string, sequenceNumber: number): void;
  /** Notes a message id for duplicate detection; those from before `keepSince` are no longer needed. */
  rememberId(queue: string, messageId: string, at: number, keepSince: number): void;
  putSessionState(queue: string, sessionId: string, state: Buffer | null): void;
  /** Calls back once everything written so far is stored; at once when nothing is pending. */
  afterCommit(action: () => void): void;
}

/** Keeps nothing: a restart begins empty. */
export const noJournal: Journal = {
  put() {},
  remove() {},
  rememberId() {},
  putSessionState() {},
  afterCommit: (action) => action(),
};
