/** One rate that all instances share, and a pause that all of them heed. `@payonce/jobs/rate/cosmos` keeps both. */
export { type Admission, createPacer, type Pacer, type PacerParts } from './pacer.ts';
export { inForce, type PauseWatch, pausedWithinMs, watchPause } from './pause.ts';
export type { PaceStore, PauseOrder, PauseStore, Schedule } from './paceStore.ts';
export type { Place, Turn } from './turns.ts';
