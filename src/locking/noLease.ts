import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';

/** For work that needs no lock but is written against a lease: always held, fence 0, costs nothing. */
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
