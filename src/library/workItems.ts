/**
 * `payonce/work-items`: stages of queued work whose effect is recorded once, however often a message comes.
 * `payonce/work-items/cosmos` records the effects.
 */

export type { SendAgain } from '../workItems/nextTry.ts';
export { NotNow, NotYet } from '../workItems/nextTry.ts';
export { type PoisonItem, type PoisonItems, type PoisonStore, poisonItems } from '../workItems/poison.ts';
export {
  createProcessWorkItem,
  type WorkItemOutcome,
  type WorkItemParts,
} from '../workItems/processWorkItem.ts';
export type { Done, Effects, RecordedEffect } from '../workItems/workItem.ts';
export {
  defineStage,
  type Effect,
  type Stage,
  type StageContext,
  type WorkItem,
  WorkItemRefused,
  workItemMessages,
} from '../workItems/workItem.ts';
