import { setTimeout as delay } from 'node:timers/promises';
import { createLocks, type Lease } from '../../packages/leases/src/index.ts';
import { openLockStore } from '../../test/support/openLockStore.ts';
import type { BenchStoreKind } from './benchStore.ts';

const candidates = 3;

/**
 * Lets the servers of a store lose their data `times` times while candidates compete for one lock. Says how many tenures there
 * were, and how many fences were equal to or below an earlier one. True if there was none.
 */
export async function wipe(kind: BenchStoreKind, times: number): Promise<boolean> {
  await using server = await kind.start();
  const lose = server.loseData;
  if (lose === undefined) {
    console.log(`${kind.name}: left out, its data is not deleted here`);
    return true;
  }
  const stop = new AbortController();
  const held = new Set<Lease>();
  let [tenures, both, falls, highest] = [0, 0, 0, 0];

  async function compete(instance: string): Promise<void> {
    await using store = await openLockStore(server.address((port) => port));
    await using locks = createLocks(store, { leaseSeconds: kind.leaseMs / 1000 });
    while (!stop.signal.aborted) {
      const lease = await locks
        .acquire('wiped', { instance, job: 'wipes' }, { waitMs: 3_600_000, signal: stop.signal })
        .catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
      if (lease === undefined) return;
      tenures++;
      if (lease.fence <= highest) {
        falls++;
        console.log(`${kind.name}: fence ${lease.fence} after ${highest}`);
      }
      highest = Math.max(highest, lease.fence);
      if ([...held].some(({ lost }) => lost === undefined)) both++;
      held.add(lease);
      await delay(Math.random() * 200, undefined, { signal: lease.signal }).catch(() => {});
      held.delete(lease);
      await lease.release();
    }
  }

  const competing = Array.from({ length: candidates }, (_, i) => compete(`candidate-${i}`));
  for (let done = 0; done < times; done++) {
    const wanted = tenures + 1 + Math.floor(Math.random() * 5);
    while (tenures < wanted) await Promise.race([delay(20), ...competing]);
    while (held.size === 0) await Promise.race([delay(1), ...competing]);
    await lose(done);
  }
  const last = tenures;
  while (tenures === last) await Promise.race([delay(20), ...competing]);
  stop.abort();
  await Promise.all(competing);
  console.log(
    `${kind.name}: ${times} times without data, ${tenures} tenures, ${both} beside a holder that trusted its lease, ` +
      `${falls} fences equal to or below an earlier one`,
  );
  return falls === 0;
}
