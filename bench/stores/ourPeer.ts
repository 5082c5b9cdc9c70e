import { createLocks, type LockStore } from '../../packages/leases/src/index.ts';
import type { Peer } from './peers.ts';

const owner = { instance: 'bench', job: 'bench' };
/** As long as a peer waits that has no limit (ms). */
const waitMs = 600_000;

/** Our leases on a store, with all defaults: each with a fence, and each without. */
export function ourPeers(open: () => LockStore): Peer[] {
  return [true, false].map((fenced) => ({
    name: fenced ? '@payonce' : '@payonce, `fenced: false`',
    async open() {
      const locks = createLocks(open());
      return {
        async acquire(key) {
          const lease = await locks.acquire(`${key}/${fenced}`, owner, { waitMs, fenced });
          return () => lease.release();
        },
        [Symbol.asyncDispose]: () => locks[Symbol.asyncDispose](),
      };
    },
  }));
}
