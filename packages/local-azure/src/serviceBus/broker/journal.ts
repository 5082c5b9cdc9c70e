import type { EntityConfig } from '../config.ts';
import type { Message } from './message.ts';

/** Where a message waits. A locked message is stored under the place it falls back to when its lock ends. */
export type RestingPlace = 'ready' | 'scheduled' | 'deferred';

/** Persists a queue's changes. Each call takes effect at the next commit. */
export interface Journal {
  put(queue: string, message: Message, place: RestingPlace): void;
  remove(queue: string, sequenceNumber: number): void;
  /** Records a message id for duplicate detection. Ids from `keepSince` or earlier may be forgotten. */
  rememberId(queue: string, messageId: string, at: number, keepSince: number): void;
  putEntity(entity: EntityConfig): void;
  /** Removes an entity with all that it holds. */
  removeEntity(name: string): void;
  putSessionState(queue: string, sessionId: string, state: Buffer | null): void;
  /** Calls back once all writes so far are committed, or immediately if none are pending. */
  afterCommit(action: () => void): void;
}

/** Stores nothing: a restart begins empty. */
export const noJournal: Journal = {
  put() {},
  remove() {},
  rememberId() {},
  putEntity() {},
  removeEntity() {},
  putSessionState() {},
  afterCommit: (action) => action(),
};
