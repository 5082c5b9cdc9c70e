/**
 * Leases under faults of the network, on each store (`npm run bench:store-faults`). Each trial has a holder behind a proxy
 * whose network fails at a random moment, and a competitor that asks for the lock directly all the time. The holder is told
 * in time if its signal has aborted before the competitor gets the lock. Afterwards the network recovers: whatever was held
 * up arrives late, and must not disturb the competitor.
 *
 * Exits with 1 if a trial that the store allows for ends too late. `--stores redis,etcd`, `--trials N` per fault.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createLocks, type LockStore } from '../../src/locking/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { noTelemetry } from '../../src/platform/telemetry.ts';
import { openLockStore } from '../../test/support/openLockStore.ts';
import { startTcpProxies } from '../../test/support/tcpProxies.ts';
import type { TcpFault } from '../../test/support/tcpProxy.ts';
import type { BenchStore, BenchStoreKind } from './benchStore.ts';
import { chosenStores } from './index.ts';

const { values } = parseArgs({
  options: {
    stores: { type: 'string' },
    trials: { type: 'string', default: '200' },
    together: { type: 'string', default: '40' },
  },
});
const trials = Number(values.trials);
const together = Number(values.together);

type Named = { name: string; fault: (leaseMs: number) => TcpFault };

const faults: readonly Named[] = [
  { name: 'frozen server', fault: () => ({ kind: 'hold' }) },
  { name: 'black hole', fault: () => ({ kind: 'blackHole' }) },
  { name: 'reset', fault: () => ({ kind: 'resetBefore' }) },
  { name: 'slow success', fault: (leaseMs) => ({ kind: 'slowSuccess', ms: leaseMs / 3 }) },
];

interface Outcome {
  /** Milliseconds from the holder's signal until the competitor got the lock; negative if the signal came later. */
  spareMs: number;
  /** Whether the competitor kept the lock once the network had recovered. */
  undisturbed: boolean;
}

async function trial(
  kind: BenchStoreKind,
  server: BenchStore,
  direct: LockStore,
  fault: TcpFault,
): Promise<Outcome> {
  const { leaseMs } = kind;
  const key = `faults/${randomUUID()}`;
  await using proxies = await startTcpProxies(server.ports);
  await using store = await openLockStore(server.address(proxies.at));
  const locks = createLocks(store, {
    clock: systemClock,
    telemetry: noTelemetry,
    leaseSeconds: leaseMs / 1000,
  });
  const lease = await locks.acquire(key, { instance: 'holder', job: 'faults' }, { waitMs: 30_000 });
  let signalledAt = Number.POSITIVE_INFINITY;
  lease.signal.addEventListener('abort', () => (signalledAt = performance.now()));
  await systemClock.sleep(Math.random() * leaseMs * 0.6);
  proxies.fault(fault);
  const id = randomUUID();
  let takenAt = Number.NaN;
  while (Number.isNaN(takenAt)) {
    const answer = await direct
      .acquire(key, id, leaseMs, AbortSignal.timeout(leaseMs))
      .catch(() => 'unknown');
    if (answer === 'acquired') takenAt = performance.now();
    else await systemClock.sleep(50);
  }
  proxies.fault({ kind: 'none' });
  await systemClock.sleep(leaseMs / 4);
  const renewed = await renewal(direct, key, id, leaseMs);
  await direct.release(key, id, AbortSignal.timeout(leaseMs)).catch(() => {});
  if (signalledAt === Number.POSITIVE_INFINITY) {
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
  }
  return { spareMs: takenAt - signalledAt, undisturbed: renewed === 'renewed' };
}

/** The answer to a renewal. None within half a lease says nothing, and is asked for once more. */
async function renewal(store: LockStore, key: string, id: string, leaseMs: number): Promise<unknown> {
  const ask = () => store.renew(key, id, leaseMs, AbortSignal.timeout(Math.ceil(leaseMs / 2)));
  return ask().catch(() => ask().catch(String));
}

let failed = false;
for (const kind of chosenStores(values.stores)) {
  await using server = await kind.start();
  await using direct = await openLockStore(server.address((port) => port));
  for (const { name, fault } of faults) {
    const outcomes: Outcome[] = [];
    let started = 0;
    await Promise.all(
      Array.from({ length: together }, async () => {
        while (started++ < trials) outcomes.push(await trial(kind, server, direct, fault(kind.leaseMs)));
      }),
    );
    const inTime = outcomes.filter(({ spareMs }) => spareMs > 0).length;
    const undisturbed = outcomes.filter(({ undisturbed }) => undisturbed).length;
    const least = Math.min(...outcomes.map(({ spareMs }) => spareMs));
    // The end of its connection ends such a lease at once: its holder can only learn of it afterwards.
    const excepted = direct.traits.keptBy === 'connection' && name === 'reset';
    if (undisturbed < trials || (inTime < trials && !excepted)) failed = true;
    console.log(
      `${kind.name.padEnd(24)} ${name.padEnd(14)} ${inTime} of ${trials} told in time, least time left ${Math.round(least)} ms; ` +
        `${undisturbed} of ${trials} successors undisturbed${excepted ? ' (the store ends the lease with its connection)' : ''}`,
    );
  }
}
process.exitCode = failed ? 1 : 0;
