import type { Clock } from '../platform/clock.ts';
import type { LockRenewal } from '../platform/heldMessage.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';

/** How long a lock lasts from its renewal: `lockDuration` of the queue (a test compares). Milliseconds. */
export const messageLockMs = 60_000;

/** How often it is renewed while work goes on, in milliseconds: two renewals may fail. */
const renewEveryMs = messageLockMs / 3;

/** How soon after a renewal without an answer the next is tried, in milliseconds. */
const retryMs = 5_000;

/** The lock of a message that a host has handed to a function. */
export interface MessageLock {
  /**
   * Whether nobody else can have the message, as far as this process knows. It is false from the moment at which the lock is
   * known to be lost, and for as long as no renewal was answered in time; also right after the process stood still.
   */
  held(): boolean;
}

/**
 * Keeps a lock while work goes on, and notices when it is lost. The host renews the lock as well, for five minutes, but tells
 * a function in Node nothing of it. Work that ends within 20 s costs no request.
 *
 * Only the service can say whether a lock that came from elsewhere is held: at first it is believed for half its time, within
 * which the first answer comes.
 */
export function keepMessageLock(
  renew: () => Promise<LockRenewal>,
  { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
): MessageLock & Disposable {
  const ended = new AbortController();
  let heldUntil = clock.monotonic() + messageLockMs / 2;
  void keep().catch(() => {
    // The sleep that the end of the work cut short.
  });
  return {
    held: () => clock.monotonic() < heldUntil,
    [Symbol.dispose]: () => ended.abort(),
  };

  async function keep(): Promise<void> {
    let wait = renewEveryMs;
    for (;;) {
      await clock.sleep(wait, ended.signal);
      const asked = clock.monotonic();
      // Why there was no answer does not matter: without one the lock is not believed for long.
      const renewal = await renew().catch(() => 'unclear' as const);
      // The host has completed the message meanwhile: that is no loss.
      if (ended.signal.aborted) return;
      switch (renewal) {
        case 'renewed':
          heldUntil = asked + messageLockMs;
          wait = renewEveryMs;
          break;
        case 'unclear':
          wait = retryMs;
          break;
        case 'lost':
          heldUntil = asked;
          telemetry.count(metric.messageLockLost);
          return;
      }
    }
  }
}
