/**
 * The function that a machine runs at the moment, and when it began: known wherever its code runs, so that a
 * call can be judged by it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Machine } from '../engine/machine.ts';
import type { StartOfCalls } from '../invariants/starts.ts';

/** One function that a host runs. */
export interface Activity {
  readonly kind: string;
  readonly machine: Machine;
  /** When it began, in milliseconds of the simulation. */
  readonly beganAt: number;
  /** The message of the queue of payment commands that it works on. */
  readonly command?: {
    readonly batchId: string;
    /** Time until which its lock may be trusted, on the machine's monotonic clock (ms). */
    trustedUntil: number;
    /** When it first asked the service whether the lock is held, on that clock; null once the service has said so. */
    askedAt?: number | null;
  };
  /** Starts of calls that it has sent, by invoice. */
  readonly starts: Map<string, StartOfCalls>;
  /** The store has given it no answer at least once. */
  unanswered: boolean;
}

const current = new AsyncLocalStorage<Activity>();

export function runAs<T>(activity: Activity, run: () => T): T {
  return current.run(activity, run);
}

/** The function whose code runs; undefined between functions. */
export function activity(): Activity | undefined {
  return current.getStore();
}
