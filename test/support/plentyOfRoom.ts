import { memoryPaceStore } from '../memory/memoryPaceStore.ts';

/** For a job that claims whatever is due: the payments are fast, and no other group goes first. */
export const plentyOfRoom = { pace: memoryPaceStore(), heads: { tell: async () => [] } };

/** `ceiling` to go with it. */
export const fastPayments = 1_000_000;
