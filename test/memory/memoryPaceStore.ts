import type { PaceStore, Schedule } from '../../packages/jobs/src/rate/paceStore.ts';
import { copyOf } from './memoryDocuments.ts';

export interface MemoryPaceStore extends PaceStore {
  /** Requests so far. */
  readonly requests: number;
}

/** Schedules in memory. `delay` runs before each request: it may wait, or throw. */
export function memoryPaceStore(delay: () => Promise<void> = async () => {}): MemoryPaceStore {
  const schedules = new Map<string, Schedule>();
  let requests = 0;
  const begin = async () => {
    requests++;
    await delay();
  };

  return {
    get requests() {
      return requests;
    },
    async read(limit) {
      await begin();
      return copyOf(schedules.get(limit));
    },
    async create(limit, schedule) {
      await begin();
      if (!schedules.has(limit)) schedules.set(limit, copyOf(schedule));
    },
    async change(limit, { where, add = {}, set = {} }) {
      await begin();
      const found = schedules.get(limit);
      if (found === undefined) return undefined;
      const { epoch, nextFrom, nextBefore, atUntil, windowSince } = where;
      const holds =
        found.epoch === epoch &&
        (nextFrom === undefined || found.next >= nextFrom) &&
        (nextBefore === undefined || found.next < nextBefore) &&
        (atUntil === undefined || found.at <= atUntil) &&
        (windowSince === undefined || found.window.since === windowSince);
      if (!holds) return undefined;
      const { next = 0, 'window.answered': answered = 0, 'window.refused': refused = 0 } = add;
      const { 'window.reserved': reserved = 0, 'window.ahead': ahead = 0 } = add;
      const { window } = found;
      const changed = {
        ...found,
        next: found.next + next,
        window: {
          ...window,
          answered: window.answered + answered,
          refused: window.refused + refused,
          ...(reserved === 0 ? {} : { reserved: (window.reserved ?? 0) + reserved }),
          ...(ahead === 0 ? {} : { ahead: (window.ahead ?? 0) + ahead }),
        },
        ...copyOf(set),
      };
      schedules.set(limit, changed);
      return copyOf(changed);
    },
  };
}
