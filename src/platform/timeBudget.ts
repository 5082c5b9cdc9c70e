import type { Clock } from './clock.ts';

/**
 * `functionTimeout` of host.json, in milliseconds. The host ends the whole process, whatever it is at, when a function
 * takes longer.
 */
export const functionTimeoutMs = 10 * 60_000;

/** What is kept back for the piece of work that is under way when the time is up, in milliseconds. */
const reserveMs = 30_000;

/** The reason of a signal that aborted since its function has nearly had all the time that the host gives it. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
  constructor() {
    super('time is up');
  }
}

/**
 * A signal for long work in a function that begins now: it aborts with `TimeIsUp` 30 s before the host would end the
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
