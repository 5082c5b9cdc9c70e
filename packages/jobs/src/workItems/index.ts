/** Stages of queued work with effects that are recorded once (`@payonce/jobs/work-items/cosmos`). */
export { RetryLater, RetryForADay, type SendAgain } from './nextTry.ts';
export { queuedMessage } from './queuedMessage.ts';
export { isPoisonId, type PoisonItem, type PoisonItems, type PoisonStore, poisonItems } from './poison.ts';
export { createProcessWorkItem, type WorkItemOutcome, type WorkItemParts } from './processWorkItem.ts';
export { sendOnce } from './sendOnce.ts';
export { defineStage, type WorkItem, WorkItemRefused, workItemMessages } from './workItem.ts';
export type { Effect, Stage, StageContext } from './stage.ts';
export { type Done, type Effects, type RecordedEffect } from './effects.ts';
