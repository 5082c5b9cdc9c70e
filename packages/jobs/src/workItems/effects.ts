import type { Effect } from './stage.ts';
import type { WorkItem } from './workItem.ts';

/** An effect as it is recorded: when it was done (ISO 8601), and by which instance. */
export type RecordedEffect = Effect & { at: string; by: string };

/** A work item and its effect. */
export interface Done {
  item: WorkItem;
  effect: RecordedEffect;
}

/** Records effects of work items once: the first record stays, a second one changes nothing. All calls may reject with `StoreAway`. */
export interface Effects {
  /** True if the effect of this work item is recorded already. */
  has(item: WorkItem): Promise<boolean>;
  record(item: WorkItem, effect: RecordedEffect): Promise<void>;
  /** True if effects of this message are recorded: then all of its work items have been dealt with. */
  hasMessage(messageId: string): Promise<boolean>;
  /** Records effects of work items that came in one message, under its id. */
  recordMessage(messageId: string, done: readonly Done[]): Promise<void>;
}
