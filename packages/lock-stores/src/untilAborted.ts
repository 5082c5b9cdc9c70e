/**
 * The answer to a call that may ignore its signal, or notice it late: rejects with the signal's reason as soon as it
 * aborts. The call itself may go on, and its answer is dropped. It keeps the process alive, which the connections of the
 * stores do not.
 */
export function untilAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const answer = call();
    if (pending++ === 0) awake.ref();
    let settled = false;
    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      if (--pending === 0) awake.unref();
      signal.removeEventListener('abort', giveUp);
      end();
    };
    const giveUp = () => settle(() => reject(signal.reason));
    signal.addEventListener('abort', giveUp, { once: true });
    answer.then(
      (answered) => settle(() => resolve(answered)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** One timer for all calls: it costs more than the rest of a call. */
const awake = setInterval(() => {}, 1_000_000_000).unref();
let pending = 0;
