import type { Clock } from '@payonce/leases/clock';
import type { Telemetry } from '@payonce/leases/telemetry';
import { metric } from '../platform/appMetrics.ts';

/** Length of a lock from its renewal (ms): `lockDuration` of the queue (a test compares). */
export const messageLockMs = 60_000;

/** Time between two renewals while work goes on (ms). Two renewals in a row may fail. */
const renewEveryMs = messageLockMs / 3;

/** Wait after a renewal without an answer, in milliseconds. */
const retryMs = 5_000;

/** Longest wait of work for the first answer (ms). */
const firstAnswerMs = 2_000;

export type LockRenewal =
  /** `until`: end of the lock, by the clock of the service (ms since the epoch). */
  | { kind: 'renewed'; until: number }
  /** The lock has expired, or the message is gone. Its next receiver works on it. */
  | { kind: 'lost' };

/** Operations on a message that the host has received. `lockToken` names the one that is locked. */
export interface HeldMessages {
  deadLetter(lockToken: string, why: { reason: string; description: string }): Promise<void>;
  renew(lockToken: string): Promise<LockRenewal>;
  /** Sends the message with this id again, to appear after `delayMs`; once, even if it is delivered several times. */
  sendAgain(message: unknown, delayMs: number, messageId?: string, traceparent?: string): Promise<void>;
}

/** The lock of a message that a host has handed to a function. */
interface MessageLock {
  /**
   * True while this process has the message to itself, as far as it knows. False once the lock is known to be lost, and
   * while no renewal was answered in time, which includes the moment after the process stood still.
   */
  held(): boolean;
  /** Resolves once the service has said whether the lock is held, or has not answered for two seconds. */
  asked(): Promise<void>;
  /** Latest time that the clock of the service has shown, in milliseconds since the epoch; 0 before its first answer. */
  serviceTime(): number;
}

/**
 * Keeps a lock while work goes on, and notices when it is lost. The host renews the lock too, for five minutes, but tells a
 * Node function nothing about it. Work that ends within 20 s costs one request.
 *
 * Only the service knows whether a lock that the host took is still held: the machine may have stood still between the receipt
 * of the message and the call of the function. So it is asked at once. Until it answers, the lock is trusted for half its time.
 */
export function keepMessageLock(
  renew: () => Promise<LockRenewal>,
  { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
): MessageLock & Disposable {
  const ended = new AbortController();
  let heldUntil = clock.monotonic() + messageLockMs / 2;
  let serviceTime = 0;
  const answered = Promise.withResolvers<void>();
  void keep().catch(() => {
    // The end of the work cut the sleep short.
  });
  return {
    held: () => clock.monotonic() < heldUntil,
    asked: () => Promise.race([answered.promise, clock.sleep(firstAnswerMs, ended.signal).catch(() => {})]),
    serviceTime: () => serviceTime,
    [Symbol.dispose]: () => ended.abort(),
  };

  async function keep(): Promise<void> {
    for (let wait = 0; ;) {
      if (wait > 0) await clock.sleep(wait, ended.signal);
      const asked = clock.monotonic();
      // Why there was no answer does not matter: without one the lock is not trusted for long.
      const renewal = await renew().catch(() => ({ kind: 'unclear' as const }));
      answered.resolve();
      // The host has completed the message meanwhile: nothing is lost.
      if (ended.signal.aborted) return;
      switch (renewal.kind) {
        case 'renewed':
          heldUntil = asked + messageLockMs;
          serviceTime = Math.max(serviceTime, renewal.until - messageLockMs);
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
