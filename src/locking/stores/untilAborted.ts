/**
 * The answer to a call that may ignore its signal, or notice it late: rejects with the signal's reason as soon as it
 * aborts. The call itself may go on, and its answer is dropped.
 */
export async function untilAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const giveUp = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([call(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
