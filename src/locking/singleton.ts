import { LockHeld } from './errors.ts';
import type { Lease } from './lease.ts';
import type { Locks } from './locks.ts';

/**
 * What a wrapped handler does when its lock is held: return undefined, wait (`waitMs`, 30 s if absent) and then throw
 * LockTimeout, or throw LockHeld, so that a queue delivers the message again.
 */
export type WhenHeld = { whenHeld: 'skip' } | { whenHeld: 'wait'; waitMs?: number } | { whenHeld: 'throw' };

/** What a handler's context tells about its invocation; that of Azure Functions does. */
export interface Invocation {
  functionName: string;
  invocationId: string;
}

/** A handler of a function, given the lease as well. */
export type LeasedHandler<Input, Context extends Invocation, Output> = (
  input: Input,
  context: Context,
  lease: Lease,
) => Promise<Output>;

export type Singleton = <Input, Context extends Invocation, Output>(
  /** The lock; a function of the input for a lock per message. */
  key: string | ((input: Input) => string),
  handler: LeasedHandler<Input, Context, Output>,
  whenHeld: WhenHeld,
) => (input: Input, context: Context) => Promise<Output | undefined>;

/**
 * The wrapper that makes a function handler run once at a time over all instances:
 * `singleton('nightly', handler, { whenHeld: 'skip' })`.
 */
export function createSingleton(locks: Locks, instance: string): Singleton {
  return (key, handler, policy) => async (input, context) => {
    const lock = typeof key === 'string' ? key : key(input);
    const owner = { instance, job: context.functionName, runId: context.invocationId };
    await using lease =
      policy.whenHeld === 'wait'
        ? await locks.acquire(lock, owner, { waitMs: policy.waitMs ?? 30_000 })
        : await locks.tryAcquire(lock, owner);
    if (lease !== null) return await handler(input, context, lease);
    if (policy.whenHeld === 'throw') throw new LockHeld(lock);
    return undefined;
  };
}
