import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';

/**
 * Renews the lock of a message until disposed, for at most `longestMs` milliseconds. The SDK's own renewal
 * continues while a settlement hangs on a broken connection, for minutes after the function ended (seen with
 * 7.9.5); meanwhile nobody else gets the message.
 */
export function renewLock(
  receiver: Pick<ServiceBusReceiver, 'renewMessageLock'>,
  message: ServiceBusReceivedMessage,
  longestMs: number,
): Disposable {
  return renewWhile(message.lockedUntilUtc, () => receiver.renewMessageLock(message), longestMs);
}

/** The same for any lock. `renew` resolves with the time until which it is locked then. */
export function renewWhile(
  lockedUntilUtc: Date | undefined,
  renew: () => Promise<Date>,
  longestMs: number,
): Disposable {
  const ended = new AbortController();
  void keep().catch(() => {
    // Either disposed, or the lock is lost: then the message is redelivered.
  });
  return { [Symbol.dispose]: () => ended.abort() };

  async function keep(): Promise<void> {
    const until = Date.now() + longestMs;
    let lockedUntil = lockedUntilUtc;
    while (lockedUntil !== undefined && lockedUntil.getTime() < until) {
      const left = lockedUntil.getTime() - Date.now();
      await delay(Math.max(0, left / 2), undefined, { signal: ended.signal, ref: false });
      lockedUntil = await renew();
    }
  }
}
