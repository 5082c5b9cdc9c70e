import type { Clock } from '../platform/clock.ts';

/** A request had no answer within its time. */
export class RequestTimedOut extends Error {
  override readonly name = 'RequestTimedOut';

  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
  }
}

const answered = new Error('answered');

/**
 * Runs one request for at most `ms`: then its signal aborts and the promise rejects, whether or not the request heeds the
 * signal. Measured: the storage SDK on a socket that swallows everything is still pending after 75 s without this.
 */
export async function bounded<T>(
  clock: Clock,
  ms: number,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const aborting = new AbortController();
  const done = new AbortController();
  const timeOut = clock.sleep(ms, done.signal).then(() => {
    const error = new RequestTimedOut(ms);
    aborting.abort(error);
    throw error;
  });
  try {
    return await Promise.race([(async () => request(aborting.signal))(), timeOut]);
  } finally {
    done.abort(answered);
  }
}
