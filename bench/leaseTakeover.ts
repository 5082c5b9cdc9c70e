/**
 * Measures how long a lock stays free after its holder is killed (SIGKILL) or asked to stop (SIGTERM): real processes,
 * a real Azurite, leases of 15 s. `npm run bench -- takeover` exits with 1 if a trial takes longer than allowed.
 * `--trials N`.
 */
import { parseArgs } from 'node:util';
import { ContainerClient } from '@azure/storage-blob';
import { blobLockStore } from '../packages/leases/src/blobLockStore.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { createLocks } from '../packages/leases/src/index.ts';
import { noTelemetry } from '../packages/leases/src/telemetry.ts';
import { startAzurite } from '../packages/local-azure/src/azurite.ts';
import { startLockHolder } from '../test/support/startLockHolder.ts';

const { values } = parseArgs({ options: { trials: { type: 'string', default: '20' } } });
const trials = Number(values.trials);
const leaseMs = 15_000;
/** Concurrent trials. */
const together = 5;

await using azurite = await startAzurite();
const { connectionString } = azurite;
const container = 'takeover';
const locks = createLocks(blobLockStore(new ContainerClient(connectionString, container)), {
  clock: systemClock,
  telemetry: noTelemetry,
  leaseSeconds: leaseMs / 1000,
});

/** Milliseconds from the signal until the next holder has the lock. */
async function takeover(signal: NodeJS.Signals, trial: number): Promise<number> {
  const key = `${signal}/${trial}`;
  await using holder = await startLockHolder({
    store: { kind: 'blob', connectionString, container },
    leaseMs,
    key,
    instance: `holder-${trial}`,
  });
  // A random point in its renewal cycle.
  await systemClock.sleep(500 + Math.random() * 6000);
  const waiting = locks.acquire(key, { instance: 'next', job: 'takeover' }, { waitMs: 60_000 });
  await systemClock.sleep(Math.random() * 2000);
  const signalledAt = performance.now();
  holder.signal(signal);
  await using lease = await waiting;
  const took = performance.now() - signalledAt;
  if (lease.fence <= holder.fence) throw new Error(`fence ${lease.fence} after ${holder.fence}`);
  return took;
}

let failed = false;
for (const [signal, allowedMs] of [
  ['SIGKILL', leaseMs + 1500],
  ['SIGTERM', 1500],
] as const) {
  const took: number[] = [];
  for (let trial = 0; trial < trials; trial += together) {
    const batch = Array.from({ length: Math.min(together, trials - trial) }, (_, i) =>
      takeover(signal, trial + i),
    );
    took.push(...(await Promise.all(batch)));
  }
  const sorted = took.toSorted((a, b) => a - b).map(Math.round);
  const worst = sorted.at(-1) ?? Number.NaN;
  if (!(worst <= allowedMs)) failed = true;
  console.log(
    `${signal}: ${trials} trials, median ${sorted[Math.floor(sorted.length / 2)]} ms, worst ${worst} ms, ` +
      `allowed ${allowedMs} ms`,
  );
}
process.exitCode = failed ? 1 : 0;
