/**
 * A process that holds a lock, for tests to kill, stop and end. It takes a step every 100 ms while its lease
 * allows it. `startLockHolder` starts it and receives its messages.
 */

import { systemClock } from '../../packages/leases/src/clock.ts';
import { createLocks, LeaseLost } from '../../packages/leases/src/index.ts';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';
import { openLockStore } from './openLockStore.ts';
import type { HolderMessage, Holding } from './startLockHolder.ts';

const { store, leaseMs, key, instance } = JSON.parse(process.argv[2] ?? '') as Holding;
const tell = (message: HolderMessage) => process.send?.(message);

const locks = createLocks(await openLockStore(store), {
  clock: systemClock,
  telemetry: noTelemetry,
  leaseSeconds: leaseMs / 1000,
});
const lease = await locks.acquire(key, { instance, job: 'holder' }, { waitMs: 60_000 });
tell({ kind: 'held', fence: lease.fence });

const steps = setInterval(() => {
  try {
    lease.assertHeld();
    tell({ kind: 'step' });
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    tell({ kind: 'refused', reason: error.reason, signalled: lease.signal.aborted });
    clearInterval(steps);
  }
}, 100);

process.once('SIGTERM', () => {
  clearInterval(steps);
  // Time for the current step to end before its lease does.
  setTimeout(() => void lease.release(), 200);
  void locks.drain(5000).then(() => process.exit(0));
});
process.once('disconnect', () => process.exit(1));
