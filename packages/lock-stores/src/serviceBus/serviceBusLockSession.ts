import { createHash, randomUUID } from 'node:crypto';
import { isServiceBusError, type ServiceBusClient, type ServiceBusSessionReceiver } from '@azure/service-bus';

/** The queue whose sessions are locks, and its LockDuration in milliseconds. */
export interface LockQueue {
  readonly name: string;
  readonly lockDurationMs: number;
  /** A session of it has been accepted, so it is there and has sessions. */
  proven: boolean;
}

/**
 * Accepts the session of a lock; undefined if another receiver has it. One that is granted after the signal has aborted is
 * closed again.
 *
 * @throws RangeError if there is no such queue, if it has no sessions, or if its LockDuration is another.
 */
export async function acceptLockSession(
  client: ServiceBusClient,
  queue: LockQueue,
  key: string,
  signal: AbortSignal,
): Promise<ServiceBusSessionReceiver | undefined> {
  const options = { maxAutoLockRenewalDurationInMs: 0, abortSignal: signal };
  const accept = (id: string) =>
    unless('SessionCannotBeLocked', client.acceptSession(queue.name, id, options));
  const sentAt = Date.now();
  const receiver = await accept(lockSessionId(key));
  if (receiver === undefined) {
    if (!queue.proven) await prove(queue, accept);
    return undefined;
  }
  queue.proven = true;
  const until = receiver.sessionLockedUntilUtc.getTime();
  const problem = signal.aborted
    ? signal.reason
    : wrongLockDuration(until, { sentAt, now: Date.now() }, queue.lockDurationMs);
  if (problem === undefined) return receiver;
  void receiver.close().catch(() => {});
  throw problem;
}

/** The SDK says that a session is taken even if there is no such queue. A session that nobody else can have tells. */
async function prove(
  queue: LockQueue,
  accept: (id: string) => Promise<ServiceBusSessionReceiver | undefined>,
): Promise<void> {
  const receiver = await accept(`proof-${randomUUID()}`);
  if (receiver === undefined) {
    throw new RangeError(
      `Service Bus grants no session of the queue "${queue.name}": does it exist with RequiresSession?`,
    );
  }
  queue.proven = true;
  void receiver.close().catch(() => {});
}

/**
 * The session of a lock. A key of lower-case letters, digits and a few marks is its own id. Others are hashed: an id has at
 * most 128 characters, and which of them a service may confuse is not documented.
 */
export function lockSessionId(key: string): string {
  if (/^[a-z0-9][a-z0-9/_.-]{0,127}$/.test(key)) return key;
  return `sha256:${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex')}`;
}

/**
 * An error if a lock that was asked for between `sentAt` and `now` does not end when it should. A difference that the
 * margin of a lease covers is left to the clocks.
 */
function wrongLockDuration(
  until: number,
  { sentAt, now }: { sentAt: number; now: number },
  lockDurationMs: number,
): Error | undefined {
  const tolerated = Math.min(3_000, lockDurationMs / 5);
  if (until >= sentAt + lockDurationMs - tolerated && until <= now + lockDurationMs + tolerated)
    return undefined;
  const found = Math.round((until - now) / 1000);
  return new RangeError(
    `The session is locked for ${found} s instead of ${lockDurationMs / 1000} s: ` +
      `the queue has another LockDuration, or the clock of this process is wrong`,
  );
}

/** True if Service Bus refuses the credential, or has no such queue. */
export function serviceBusDenies(error: unknown): boolean {
  return isServiceBusError(error) && ['UnauthorizedAccess', 'MessagingEntityNotFound'].includes(error.code);
}

/** Resolves with the result of a call; undefined if Service Bus refused it for this reason. */
export async function unless<T>(
  code: 'SessionCannotBeLocked' | 'SessionLockLost',
  call: Promise<T>,
): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    // If the SDK has repeated the call, it throws the errors of all its attempts.
    const last: unknown = error instanceof AggregateError ? error.errors.at(-1) : error;
    if (isServiceBusError(last) && last.code === code) return undefined;
    throw error;
  }
}
