import { type PauseOrder, type PauseStore, pauseSchema } from '../../packages/jobs/src/rate/paceStore.ts';
import { copyOf } from './memoryDocuments.ts';

export interface MemoryPauseStore extends PauseStore {
  /** Number of reads. */
  readonly reads: number;
}

/** The pause in memory. `delay` runs before each request: it may wait, or throw. */
export function memoryPauseStore(delay: () => Promise<void> = async () => {}): MemoryPauseStore {
  let stored: PauseOrder | undefined;
  let reads = 0;
  return {
    get reads() {
      return reads;
    },
    async read() {
      reads++;
      const read = copyOf(stored);
      await delay();
      return read;
    },
    async begin(pause) {
      await delay();
      stored = pauseSchema.parse(pause);
    },
    async end({ at }, resumed) {
      await delay();
      if (stored === undefined || stored.at !== at || stored.resumedAt !== undefined) return false;
      stored = { ...stored, resumedAt: resumed.at, resumedBy: resumed.by };
      return true;
    },
  };
}
