import { isAway } from '../documents/cosmosErrors.ts';

/** A stage cannot do its work at the moment, through no fault of the work item: whoever it needs is ill. */
export class NotNow extends Error {
  override readonly name: string = 'NotNow';
}

/**
 * Whether work that failed like this may succeed some time later as it is: a stage says so, or the store was busy, gave no
 * answer, or did not let the app in. All else is a bug, a crash or a bad message, for the queue's own few deliveries.
 */
export function isNotNow(error: unknown): boolean {
  return error instanceof NotNow || isAway(error);
}
