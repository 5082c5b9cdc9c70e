import type { Clock } from './clock.ts';

/**
 * `functionTimeout` of host.json, in milliseconds. If a function takes longer, the host kills the whole process,
 * whatever else it is doing.
 */
export const functionTimeoutMs = 10 * 60_000;

/** Held back so that work under way can finish once time is up, in milliseconds. */
const reserveMs = 30_000;

/** The abort reason when a function has used nearly all the time the host gives it. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
  constructor() {
    super('time is up');
  }
}

/** How long work in a function may go on, in milliseconds: it ends 30 s before the host would kill the process. */
export const functionBudgetMs = functionTimeoutMs - reserveMs;

/**
 * A signal for long work that starts now. It aborts with `TimeIsUp` after `limitMs` milliseconds (Infinity: never), or when
 * `signal` aborts. Dispose of it when the work ends.
 */
export function timeBudget(
  clock: Clock,
  signal?: AbortSignal,
  limitMs = functionBudgetMs,
): { readonly signal: AbortSignal } & Disposable {
  const timeUp = new AbortController();
  const ended = new AbortController();
  if (limitMs !== Number.POSITIVE_INFINITY) {
    clock.sleep(limitMs, ended.signal).then(
      () => timeUp.abort(new TimeIsUp()),
      () => {},
    );
  }
  return {
    signal: signal === undefined ? timeUp.signal : AbortSignal.any([signal, timeUp.signal]),
    [Symbol.dispose]: () => ended.abort(),
  };
}

/** Work that a stopping process waits for before it closes its connections. */
export interface WorkUnderWay {
  /** Passes the work on, and remembers it until it ends. */
  track: <T>(work: Promise<T>) => Promise<T>;
  /** Resolves when all of it has ended, or after `withinMs` milliseconds. */
  ended: (withinMs: number) => Promise<void>;
}

export function workUnderWay(clock: Clock): WorkUnderWay {
  const underWay = new Set<Promise<unknown>>();
  return {
    track(work) {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },
    async ended(withinMs) {
      const done = new AbortController();
      const late = clock.sleep(withinMs, done.signal).catch(() => {});
      await Promise.race([Promise.allSettled(underWay), late]);
      done.abort();
    },
  };
}
