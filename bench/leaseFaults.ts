/**
 * Leases of 15 s on a real Azurite, in real time. Each has its own proxy, whose network fails at a random
 * moment of the renewal cycle. The holder must notice at least the margin before the service could grant the
 * lock to another process. `npm run bench -- lease-faults` exits with 1 if it does not. `--trials N` per fault.
 */
import { parseArgs } from 'node:util';
import { ContainerClient } from '@azure/storage-blob';
import { blobLockStore } from '../packages/leases/src/blobLockStore.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { createLocks, leaseTiming } from '../packages/leases/src/index.ts';
import { noTelemetry } from '../packages/leases/src/telemetry.ts';
import { startAzurite } from '../packages/local-azure/src/azurite.ts';
import { startFaultProxy } from '../test/support/faultProxy.ts';
import type { Fault } from '../test/support/faultyLockStore.ts';

const { values } = parseArgs({ options: { trials: { type: 'string', default: '200' } } });
const trials = Number(values.trials);
const timing = leaseTiming(15);
/** Concurrent trials. */
const together = 100;

await using azurite = await startAzurite();
const target = /BlobEndpoint=(http:\/\/[^/]+)/.exec(azurite.connectionString)?.[1] ?? '';
const direct = new ContainerClient(azurite.connectionString, 'faults');
await direct.createIfNotExists();

/** Milliseconds left of the service's lease when the signal fired. */
async function trial(fault: Fault, name: string): Promise<number> {
  let current: Fault = { kind: 'none' };
  let appliedAt = 0;
  await using proxy = await startFaultProxy({
    target,
    fault: () => current,
    applied: ({ headers }, forwardedAt) => {
      // The earliest start of the lease: the service may apply the request as soon as it is forwarded.
      if (/^(acquire|renew)$/.test(String(headers['x-ms-lease-action']))) appliedAt = forwardedAt;
    },
  });
  const container = new ContainerClient(azurite.connectionString.replace(target, proxy.origin), 'faults');
  const locks = createLocks(blobLockStore(container), {
    clock: systemClock,
    telemetry: noTelemetry,
    leaseSeconds: timing.leaseMs / 1000,
  });
  const lease = await locks.acquire(name, { instance: 'faults', job: 'faults' }, { waitMs: 30_000 });
  const spare = new Promise<number>((resolve) => {
    lease.signal.addEventListener('abort', () => resolve(appliedAt + timing.leaseMs - performance.now()));
  });
  await systemClock.sleep(Math.random() * 8000);
  current = fault;
  return await spare;
}

const faults: Fault[] = [
  { kind: 'blackHole' },
  { kind: 'delay', ms: 20_000 },
  { kind: 'resetBefore' },
  { kind: 'resetAfter' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503 },
  { kind: 'slowSuccess', ms: 4000 },
];
let failed = false;
for (const fault of faults) {
  const spares: number[] = [];
  for (let done = 0; done < trials; done += together) {
    const batch = Array.from({ length: Math.min(together, trials - done) }, (_, i) =>
      trial(fault, `${JSON.stringify(fault)}/${done + i}`),
    );
    spares.push(...(await Promise.all(batch)));
  }
  const least = Math.min(...spares);
  const early = spares.filter((spare) => spare >= timing.marginMs).length;
  if (early !== trials) failed = true;
  console.log(
    `${JSON.stringify(fault).padEnd(36)} ${early} of ${trials} in time; least time left ${Math.round(least)} ms, ` +
      `margin ${timing.marginMs} ms`,
  );
}
process.exitCode = failed ? 1 : 0;
