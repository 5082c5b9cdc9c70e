import type { Clock } from '../platform/clock.ts';

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
