import { describe } from 'vitest';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import type { Clock } from '../src/clock.ts';
import { createLocks, LeaseLost, type LostReason } from '../src/index.ts';
import { noTelemetry } from '../src/telemetry.ts';
import { leaderContract } from '../src/testing/leaderContract.ts';
import { lockStoreContract } from '../src/testing/lockStoreContract.ts';
import { memoryLockStore } from '../src/testing/memoryLockStore.ts';
import type { ContractHolder } from '../src/testing/subject.ts';

const clock = virtualClock();
const memory = memoryLockStore(() => clock.monotonic());

/** A process on the model. It shares the clock, but while it is frozen or dead none of its timers fires. */
async function startHolder(key: string): Promise<ContractHolder> {
  let running = Promise.resolve();
  let resume = () => {};
  let steps = 0;
  const freeze = () => {
    running = new Promise((resolve) => {
      resume = resolve;
    });
  };
  const own: Clock = {
    ...clock,
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal);
      await running;
    },
  };
  const locks = createLocks(memory, { clock: own, telemetry: noTelemetry, leaseSeconds: 15 });
  const lease = await locks.acquire(key, { instance: 'holder', job: 'contract' }, { waitMs: 0 });
  const refused = (async (): Promise<{ reason: LostReason; signalled: boolean }> => {
    for (;;) {
      await own.sleep(100);
      try {
        lease.assertHeld();
        steps++;
      } catch (error) {
        if (error instanceof LeaseLost) return { reason: error.reason, signalled: lease.signal.aborted };
        throw error;
      }
    }
  })();
  return { fence: lease.fence, steps: () => steps, refused, kill: freeze, freeze, thaw: () => resume() };
}

describe('the in-memory model', () => {
  lockStoreContract({
    store: memory,
    clock,
    leaseMs: 15_000,
    pass: (ms) => clock.advance(ms),
    realTime: false,
    canFreeze: true,
    lose: async (key) => memory.lose(key),
    destroy: async (key) => memory.delete(key),
    startHolder,
    another: async () => memory,
  });
  leaderContract({
    open: async () => memory,
    clock,
    leaseMs: 15_000,
    pass: (ms) => clock.advance(ms),
    realTime: false,
    lose: async (key) => memory.lose(key),
  });
});
