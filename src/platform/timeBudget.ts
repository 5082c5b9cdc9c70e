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

/**
 * A signal for long work in a function that starts now. It aborts with `TimeIsUp` 30 s before the host would kill the
 * process, or when `signal` aborts. Dispose of it when the function ends.
 */
export function timeBudget(
  clock: Clock,
  signal?: AbortSignal,
): { readonly signal: AbortSignal } & Disposable {
  const timeUp = new AbortController();
  const ended = new AbortController();
  clock.sleep(functionTimeoutMs - reserveMs, ended.signal).then(
    () => timeUp.abort(new TimeIsUp()),
    () => {},
  );
  return {
    signal: signal === undefined ? timeUp.signal : AbortSignal.any([signal, timeUp.signal]),
    [Symbol.dispose]: () => ended.abort(),
  };
}
