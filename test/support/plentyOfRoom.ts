import type { PauseWatch } from '../../packages/jobs/src/rate/pause.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';

/** Payments go on. */
export const notPaused: Pick<PauseWatch, 'look' | 'gate'> = { look: async () => {}, gate: () => 'open' };

/** For a job that claims whatever is due: the payments are fast and not paused. */
export const plentyOfRoom = {
  pace: memoryPaceStore(),
  pause: notPaused,
};

/** `ceiling` to go with it. */
export const fastPayments = 1_000_000;
