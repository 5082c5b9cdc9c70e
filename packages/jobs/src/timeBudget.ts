import type { Clock } from '@payonce/leases/clock';

/** `functionTimeout` of host.json (ms): the host kills the whole process if a function takes longer. */
export const functionTimeoutMs = 10 * 60_000;

/** The abort reason when a function has used nearly all the time the host gives it. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
  constructor() {
    super('time is up');
  }
}

/** Time that work in a function may go on (ms): what is running then has 30 s until the host would kill the process. */
export const functionBudgetMs = functionTimeoutMs - 30_000;

/** A signal that aborts with `TimeIsUp` after `limitMs` (ms), or when `signal` aborts. Dispose of it when the work ends. */
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
