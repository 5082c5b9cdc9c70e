import { StoreAway } from '../documents/storeAway.ts';
import { LockTimeout } from '../locking/index.ts';

/**
 * A stage cannot do its work at the moment, through no fault of the work item: something it needs is down. That ends some
 * day, so the item is tried for as long as it takes.
 */
export class NotNow extends Error {
  override readonly name: string = 'NotNow';
}

/**
 * What a stage needs is there and answers, and does not take this work item. It may later, so the item is tried for a day.
 * Then a person should look at it.
 */
export class NotYet extends NotNow {
  override readonly name: string = 'NotYet';
}

/**
 * Whether work that failed like this may succeed later as it is: a stage says so, or the store of documents or of locks was
 * away. Everything else is a bug, a crash or a bad message, and gets the queue's own few deliveries.
 */
export function isNotNow(error: unknown): boolean {
  // With a cause, the lock was not held elsewhere: its store gave no answer.
  const locksAway = error instanceof LockTimeout && error.cause !== undefined;
  return error instanceof NotNow || error instanceof StoreAway || locksAway;
}
