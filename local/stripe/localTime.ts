import type { Store } from './store/index.ts';

/** This server's time: a clock, and what it has been advanced by. */
export function createLocalTime(clock: () => number, { settings }: Store) {
  let advancedMs = Number(settings.get('clockAdvancedMs') ?? 0);
  return {
    /** Epoch milliseconds. */
    now: (): number => clock() + advancedMs,
    advance(ms: number): void {
      advancedMs += ms;
      settings.put('clockAdvancedMs', String(advancedMs));
    },
  };
}
