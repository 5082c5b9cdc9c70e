import { createLocks, type LocksOptions, type ProcessLocks } from '../../packages/leases/src/index.ts';
import { type MemoryLockStore, memoryLockStore } from '../../packages/leases/src/testing/memoryLockStore.ts';
import { type Fault, faultyLockStore, type Operation } from './faultyLockStore.ts';
import { type RecordedTelemetry, recordedTelemetry } from './recordedTelemetry.ts';
import { type VirtualClock, virtualClock } from './virtualClock.ts';

export interface VirtualLocks {
  locks: ProcessLocks;
  clock: VirtualClock;
  memory: MemoryLockStore;
  telemetry: RecordedTelemetry;
  /** The requests so far, in order. */
  calls: Operation[];
  network: { fault: (operation: Operation) => Fault };
}

/**
 * Locks on the model store and a virtual clock. Pass the parts of one to another to make two processes that
 * compete.
 */
export function virtualLocks(
  options: Partial<LocksOptions> = {},
  shared?: Pick<VirtualLocks, 'clock' | 'memory'>,
): VirtualLocks {
  const clock = shared?.clock ?? virtualClock();
  const memory = shared?.memory ?? memoryLockStore(() => clock.monotonic());
  const telemetry = recordedTelemetry();
  const calls: Operation[] = [];
  const network: VirtualLocks['network'] = { fault: () => ({ kind: 'none' }) };
  const store = faultyLockStore(memory, clock, (operation) => {
    calls.push(operation);
    return network.fault(operation);
  });
  const locks = createLocks(store, { clock, telemetry, random: () => 0.5, ...options });
  return { locks, clock, memory, telemetry, calls, network };
}
