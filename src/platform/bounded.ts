import type { Clock } from './clock.ts';

/** No answer came in time. The request may still have been applied. */
export class RequestTimedOut extends Error {
  override readonly name = 'RequestTimedOut';

  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
  }
}

const answered = new Error('answered');

/**
 * Runs a request for at most `ms` milliseconds. Then its signal aborts and the promise rejects, even if the
 * request ignores the signal. Measured: without this, a storage SDK call on a socket that swallows everything
 * is still pending after 75 s.
 *
 * @throws RequestTimedOut after `ms`; before that, whatever the request throws.
 */
export function bounded<T>(
  clock: Clock,
  ms: number,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborting = new AbortController();
    const answer = request(aborting.signal);
    const cancel = limit(clock, ms, () => {
      const error = new RequestTimedOut(ms);
      aborting.abort(error);
      reject(error);
    });
    answer.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Calls `fire` after `ms` milliseconds, unless the function that it returns is called first. */
export function limit(clock: Clock, ms: number, fire: () => void): () => void {
  if (clock.after !== undefined) return clock.after(ms, fire);
  const done = new AbortController();
  clock.sleep(ms, done.signal).then(fire, () => {});
  return () => done.abort(answered);
}
