import { LockHeld } from './errors.ts';
import type { Lease } from './lease.ts';
import type { LeaseChoice, Locks } from './locks.ts';

/**
 * What a wrapped handler does if its lock is held:
 * - `skip`: return undefined;
 * - `wait`: wait up to `waitMs` milliseconds (default 30 s), then throw LockTimeout;
 * - `throw`: throw LockHeld, so that a queue redelivers the message.
 *
 * While this process shuts down, `skip` and `throw` do the same, and `wait` throws LocksClosed.
 */
export type WhenHeld = { whenHeld: 'skip' } | { whenHeld: 'wait'; waitMs?: number } | { whenHeld: 'throw' };

/** What a wrapped handler needs of its context. The context of Azure Functions fits. */
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
 * Creates a wrapper that lets a function handler run on one instance at a time:
 *
 * `singleton('nightly', handler, { whenHeld: 'skip' })`
 *
 * `instance` names this process as the owner of its leases, and `choice` says how they are taken. The handler must call `lease.assertHeld()` before
 * each side effect.
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
