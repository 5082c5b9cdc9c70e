import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';

/**
 * A lease for work that is written against one but needs no lock: always held, fence 0, makes no requests.
 */
export function noLease(key: string, owner: LeaseOwner): Lease {
  return {
    key,
    owner,
    fence: 0,
    signal: new AbortController().signal,
    lost: undefined,
    assertHeld() {},
    async release() {},
    async [Symbol.asyncDispose]() {},
  };
}
