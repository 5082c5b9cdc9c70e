import type { Effect, WorkItem } from './workItem.ts';

/** Where effects of work items are recorded: one record each, written once. Both calls may reject with `StoreAway`. */
export interface Effects {
  /** Whether the effect of this work item is recorded already. */
  has(item: WorkItem): Promise<boolean>;
  /** Records an effect. The first record stays: a second one changes nothing. */
  record(item: WorkItem, effect: Effect & { at: string; by: string }): Promise<void>;
}
