/**
 * One process holds many leases for minutes. It must lose none and use at most half a core on average.
 * `npm run bench -- endurance`; `--leases N`, `--seconds S`.
 */
import { parseArgs } from 'node:util';
import { ContainerClient } from '@azure/storage-blob';
import { blobLockStore } from '../packages/leases/src/blobLockStore.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { createLocks, type Lease } from '../packages/leases/src/index.ts';
import { partMetric, type Telemetry } from '../packages/leases/src/telemetry.ts';
import { startAzurite } from '../packages/local-azure/src/azurite.ts';

const { values } = parseArgs({
  options: { leases: { type: 'string', default: '1000' }, seconds: { type: 'string', default: '300' } },
});
const count = Number(values.leases);
const seconds = Number(values.seconds);
const allowedCores = 0.5;

const worst = new Map<string, number>();
let renewals = 0;
const telemetry: Telemetry = {
  count() {},
  record(name, value) {
    if (name === partMetric.leaseRenewMs) renewals++;
    const isWorse = name === partMetric.leaseLeftAtRenewalMs ? Math.min : Math.max;
    worst.set(name, isWorse(worst.get(name) ?? value, value));
  },
};

await using azurite = await startAzurite();
const container = new ContainerClient(azurite.connectionString, 'endurance');
const locks = createLocks(blobLockStore(container), { clock: systemClock, telemetry });
const leases: Lease[] = [];
for (let i = 0; i < count; i += 50) {
  const batch = Array.from({ length: Math.min(50, count - i) }, (_, j) =>
    locks.tryAcquire(`endurance/${i + j}`, { instance: 'endurance', job: 'endurance' }),
  );
  for (const lease of await Promise.all(batch)) if (lease !== null) leases.push(lease);
}

const cpu = process.cpuUsage();
const startedAt = performance.now();
await systemClock.sleep(seconds * 1000);
const { user, system } = process.cpuUsage(cpu);
const cores = (user + system) / 1000 / (performance.now() - startedAt);
const lost = leases.filter((lease) => lease.lost !== undefined);
const shown = (name: string) => `${Math.round(worst.get(name) ?? Number.NaN)} ms`;

console.log(
  `${leases.length} of ${count} leases held for ${seconds} s: ${lost.length} lost, ${renewals} renewals`,
);
console.log(
  `CPU ${cores.toFixed(3)} cores on average (allowed ${allowedCores}), ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`,
);
console.log(
  `worst: renewal ${shown(partMetric.leaseRenewMs)}, time left at renewal ${shown(partMetric.leaseLeftAtRenewalMs)}, ` +
    `event loop delay ${shown(partMetric.eventLoopDelayMs)}`,
);
for (const lease of lost.slice(0, 5))
  console.log(`lost ${lease.key}: ${lease.lost?.reason}, ${lease.lost?.detail}`);
await Promise.all(leases.map((lease) => lease.release()));
process.exitCode = lost.length === 0 && leases.length === count && cores <= allowedCores ? 0 : 1;
