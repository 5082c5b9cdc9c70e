/**
 * The answer to a call that may ignore its signal, or notice it late: rejects with the signal's reason as soon as it
 * aborts. The call itself may go on, and its answer is dropped.
 */
export function untilAborted<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const giveUp = () => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    const ended = () => signal.removeEventListener('abort', giveUp);
    call().then(
      (answer) => {
        ended();
        resolve(answer);
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
  });
}
