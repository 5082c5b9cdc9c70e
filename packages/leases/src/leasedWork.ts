import { type Lease, type LeaseChoice, LockHeld, type Locks, LockTimeout } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';

/**
 * Leader election: of all processes that call `lead` with the same key, at most one runs its work at a time.
 *
 *          lock acquired                 work returns or throws
 *   FOLLOWER ──────────► LEADER ───────────────────────────────► DONE
 *      ▲                   │
 *      └───────────────────┘
 *       lease lost, and the work has ended
 */

/** Milliseconds that a follower waits in one `acquire`. Then it starts another, so that every wait is bounded. */
const followMs = 60_000;

/**
 * Runs `work` while this process is the leader, until `work` ends with its lease held; again at each election after a loss.
 * `work` should return once `lease.signal` aborts, and must watch `signal`, which ends only a follower's wait: `lead` then
 * resolves with undefined. Rejects with what `work` throws while it holds its lease; other errors after a loss than `LeaseLost`
 * and `AbortError` are told to `onError` of the locks. @throws LocksClosed if this process shuts down while it follows
 */
export async function lead<T>(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  work: (lease: Lease) => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  for (;;) {
    const elected = await follow(locks, key, owner, signal);
    if (elected === undefined) return undefined;
    await using lease = elected;
    try {
      const value = await work(lease);
      if (lease.lost === undefined) return value;
    } catch (error) {
      if (lease.lost === undefined) throw error;
      // Timers, events and SDKs reject with an AbortError of their own when `lease.signal` aborts.
      const isLoss = error instanceof Error && ['LeaseLost', 'AbortError'].includes(error.name);
      if (!isLoss) locks.onError?.(error, key);
    }
  }
}

/** The lease, once this process is elected; undefined if `signal` aborts first. */
async function follow(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  while (!signal.aborted) {
    try {
      return await locks.acquire(key, owner, { waitMs: followMs, signal });
    } catch (error) {
      if (!(error instanceof LockTimeout) && !signal.aborted) throw error;
    }
  }
  return undefined;
}

/**
 * Behaviour of a wrapped handler whose lock is held:
 * - `skip`: return undefined;
 * - `wait`: wait up to `waitMs` milliseconds (default 30 s), then throw LockTimeout;
 * - `throw`: throw LockHeld, so that a queue redelivers the message.
 *
 * While this process shuts down, `skip` and `throw` do the same, and `wait` throws LocksClosed.
 */
export type WhenHeld = { whenHeld: 'skip' } | { whenHeld: 'wait'; waitMs?: number } | { whenHeld: 'throw' };

/** Context of a wrapped handler. The context of Azure Functions fits. */
export interface Invocation {
  functionName: string;
  invocationId: string;
}

/** A function handler that gets the lease as its third argument. */
export type LeasedHandler<Input, Context extends Invocation, Output> = (
  input: Input,
  context: Context,
  lease: Lease,
) => Promise<Output>;

/** Wraps a handler; see `createSingleton`. */
export type Singleton = <Input, Context extends Invocation, Output>(
  /** The lock key, or a function of the input for one lock per message. */
  key: string | ((input: Input) => string),
  handler: LeasedHandler<Input, Context, Output>,
  whenHeld: WhenHeld,
) => (input: Input, context: Context) => Promise<Output | undefined>;

/**
 * Wraps function handlers to run on one instance at a time: `singleton('nightly', handler, { whenHeld: 'skip' })`. `instance`
 * owns the leases, `choice` says how they are acquired. The handler must call `lease.assertHeld()` before each side effect.
 */
export function createSingleton(locks: Locks, instance: string, choice: LeaseChoice = {}): Singleton {
  return (key, handler, policy) => async (input, context) => {
    const lock = typeof key === 'string' ? key : key(input);
    const owner = { instance, job: context.functionName, runId: context.invocationId };
    await using lease =
      policy.whenHeld === 'wait'
        ? await locks.acquire(lock, owner, { ...choice, waitMs: policy.waitMs ?? 30_000 })
        : await locks.tryAcquire(lock, owner, choice);
    if (lease !== null) return await handler(input, context, lease);
    if (policy.whenHeld === 'throw') throw new LockHeld(lock);
    return undefined;
  };
}

/** `heldElsewhere`: the work did not run. */
export type LeasedResult<T> = { kind: 'done'; value: T } | { kind: 'heldElsewhere' };

/**
 * Runs `work` under a lease, released even if it fails. If the lock is held: `heldElsewhere`, or with `waitMs` (milliseconds)
 * LockTimeout after the wait, which `signal` ends. Rejects with what `work` throws, and as `Locks.tryAcquire` or
 * `Locks.acquire` does.
 */
export async function withLease<T>(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  work: (lease: Lease) => Promise<T>,
  options: LeaseChoice & { waitMs?: number; signal?: AbortSignal } = {},
): Promise<LeasedResult<T>> {
  const { waitMs, ...rest } = options;
  await using lease =
    waitMs === undefined
      ? await locks.tryAcquire(key, owner, rest)
      : await locks.acquire(key, owner, { ...rest, waitMs });
  return lease === null ? { kind: 'heldElsewhere' } : { kind: 'done', value: await work(lease) };
}
