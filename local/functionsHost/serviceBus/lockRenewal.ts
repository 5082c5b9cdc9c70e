import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';

/**
 * Keeps the lock of a message until it is disposed of, for at most `longestMs` milliseconds. The SDK's own renewal goes on
 * while a settlement hangs on a connection that broke, for minutes after the function ended (seen with 7.9.5); nobody
 * else gets the message meanwhile.
 */
export function renewLock(
  receiver: Pick<ServiceBusReceiver, 'renewMessageLock'>,
  message: ServiceBusReceivedMessage,
  longestMs: number,
): Disposable {
  const ended = new AbortController();
  void keep().catch(() => {
    // Either it ended, or the lock cannot be had any more: then the message comes again.
  });
  return { [Symbol.dispose]: () => ended.abort() };

  async function keep(): Promise<void> {
    const until = Date.now() + longestMs;
    let lockedUntil = message.lockedUntilUtc;
    while (lockedUntil !== undefined && lockedUntil.getTime() < until) {
      const left = lockedUntil.getTime() - Date.now();
      await delay(Math.max(0, left / 2), undefined, { signal: ended.signal, ref: false });
      lockedUntil = await receiver.renewMessageLock(message);
    }
  }
}
