import { describe, expect, test } from 'vitest';
import { type Fault, faultyLockStore } from '../../../test/support/faultyLockStore.ts';
import { virtualClock } from '../../../test/support/virtualClock.ts';
import { createLocks } from '../src/index.ts';
import { noTelemetry } from '../src/telemetry.ts';
import { memoryLockStore } from '../src/testing/memoryLockStore.ts';
import { leaseTiming } from '../src/timing.ts';

/**
 * The same trials run against a real proxy and a real Azurite in `bench/leaseFaults.ts`. Here time is
 * virtual, so 200 of each take a second.
 */
const trials = 200;
const timing = leaseTiming(15);

/** A number in [0, 1) from a seed, so that a failing trial can be repeated. */
function fraction(seed: number): number {
  const x = Math.sin(seed * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
}

/**
 * Runs a lease into a fault that begins at a random time. Returns how early its signal fired: milliseconds
 * before the store could give the lock to another, or NaN if it never fired.
 */
async function trial(fault: Fault, seed: number): Promise<number> {
  const clock = virtualClock();
  const network: { fault: Fault } = { fault: { kind: 'none' } };
  let appliedAt = 0;
  const store = faultyLockStore(
    memoryLockStore(() => clock.monotonic()),
    clock,
    () => network.fault,
    (operation) => {
      if (operation === 'acquire' || operation === 'renew') appliedAt = clock.monotonic();
    },
  );
  let draws = 0;
  const random = () => fraction(seed + ++draws * 0.37);
  const locks = createLocks(store, { clock, telemetry: noTelemetry, leaseSeconds: 15, random });
  const lease = await locks.tryAcquire('key', { instance: 'i', job: 'faults' });
  if (lease === null) throw new Error('not acquired');
  await clock.advance(20_000 * fraction(seed));
  network.fault = fault;
  let spare = Number.NaN;
  lease.signal.addEventListener('abort', () => (spare = appliedAt + timing.leaseMs - clock.monotonic()));
  await clock.advance(60_000);
  return spare;
}

describe('under a lasting fault, the signal fires at least one margin before another could get the lock', () => {
  test.each<Fault>([
    { kind: 'blackHole' },
    { kind: 'resetBefore' },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 403 },
    { kind: 'delay', ms: 30_000 },
  ])('%o', async (fault) => {
    for (let seed = 1; seed <= trials; seed++) {
      expect(await trial(fault, seed), `seed ${seed}`).toBeGreaterThanOrEqual(timing.marginMs);
    }
  });

  test.each<Fault>([{ kind: 'resetAfter' }, { kind: 'slowSuccess', ms: 4000 }])(
    '%o: the store extends the lease, but its holder does not know',
    async (fault) => {
      for (let seed = 1; seed <= trials; seed++) {
        expect(await trial(fault, seed), `seed ${seed}`).toBeGreaterThanOrEqual(timing.marginMs);
      }
    },
  );
});

test('a slow success within the request timeout renews the lease', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    expect(await trial({ kind: 'slowSuccess', ms: 2000 }, seed)).toBeNaN();
  }
});
