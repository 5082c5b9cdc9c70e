/**
 * Measures what locks cost on each store, on a real server of it on this machine (`npm run bench -- stores`):
 * - a fenced cycle of acquire and release, against the same requests on the bare client, in short rounds that
 *   alternate: the ratio is the median of those of neighbouring rounds, so a busy machine slows down both;
 * - how often a lock changes hands that eight clients want;
 * - how long a lock stays taken whose holder was killed.
 *
 * Exits with 1 if a cycle takes more than 1.2 times as long as the bare client. `--stores redis,etcd`, `--rounds N`,
 * `--cycles N`, `--takeovers N`.
 */
import { parseArgs } from 'node:util';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { createLocks } from '../../packages/leases/src/index.ts';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';
import { openLockStore } from '../../test/support/openLockStore.ts';
import { startLockHolder } from '../../test/support/startLockHolder.ts';
import type { BenchStore, BenchStoreKind } from './benchStore.ts';
import { chosenStores } from './index.ts';

const { values } = parseArgs({
  options: {
    stores: { type: 'string' },
    rounds: { type: 'string', default: '40' },
    cycles: { type: 'string', default: '40' },
    takeovers: { type: 'string', default: '5' },
  },
});
const [rounds, cycles, takeovers] = [values.rounds, values.cycles, values.takeovers].map(Number) as [
  number,
  number,
  number,
];
const allowed = 1.2;
const owner = { instance: 'bench', job: 'bench' };
const warmUpMs = 5_000;
const contenders = 8;
const contendedMs = 5_000;
/** Without a proxy. */
const itself = (port: number) => port;

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

function locksOn(store: Parameters<typeof createLocks>[0], kind: BenchStoreKind) {
  const backoff = { firstMs: 2, mostMs: 20 };
  return createLocks(store, {
    clock: systemClock,
    telemetry: noTelemetry,
    leaseSeconds: kind.leaseMs / 1000,
    backoff,
  });
}

/** Milliseconds per cycle, ours and bare, and the median ratio of neighbouring rounds. */
async function cycleTimes(kind: BenchStoreKind, { address, raw }: BenchStore) {
  await using store = await openLockStore(address(itself));
  const locks = locksOn(store, kind);
  const ours = async () => (await locks.acquire('cycle/ours', owner, { waitMs: 5_000 })).release();
  const bare = () => raw.cycle('cycle-bare');
  await raw.prepare('cycle-bare');
  const time = async (cycle: () => Promise<void>) => {
    const startedAt = performance.now();
    for (let i = 0; i < cycles; i++) await cycle();
    return (performance.now() - startedAt) / cycles;
  };
  // Short rounds of fast stores would measure the compiler otherwise.
  for (const until = performance.now() + warmUpMs; performance.now() < until;) {
    await time(bare);
    await time(ours);
  }
  const pairs: { ours: number; bare: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push({ ours: await time(ours), bare: await time(bare) });
    else {
      const bareMs = await time(bare);
      pairs.push({ bare: bareMs, ours: await time(ours) });
    }
  }
  return {
    ours: median(pairs.map((pair) => pair.ours)),
    bare: median(pairs.map((pair) => pair.bare)),
    ratio: median(pairs.map((pair) => pair.ours / pair.bare)),
  };
}

/** Measures how many tenures a second eight clients get of one lock. */
async function contendedRate(kind: BenchStoreKind, { address }: BenchStore): Promise<number> {
  const until = performance.now() + contendedMs;
  let tenures = 0;
  await Promise.all(
    Array.from({ length: contenders }, async () => {
      await using store = await openLockStore(address(itself));
      const locks = locksOn(store, kind);
      while (performance.now() < until) {
        await using lease = await locks.acquire('contended', owner, { waitMs: 30_000 });
        lease.assertHeld();
        tenures++;
      }
    }),
  );
  return tenures / (contendedMs / 1000);
}

/** Milliseconds from the kill of a holder until another has the lock. */
async function takeoverMs(kind: BenchStoreKind, { address }: BenchStore, trial: number): Promise<number> {
  const key = `takeover/${trial}`;
  await using holder = await startLockHolder({
    store: address(itself),
    leaseMs: kind.leaseMs,
    key,
    instance: 'holder',
  });
  await using store = await openLockStore(address(itself));
  // A random point in its renewal cycle.
  await systemClock.sleep(500 + Math.random() * kind.leaseMs * 0.4);
  const waiting = locksOn(store, kind).acquire(key, owner, { waitMs: 120_000 });
  await systemClock.sleep(200);
  const killedAt = performance.now();
  holder.signal('SIGKILL');
  await using lease = await waiting;
  if (lease.fence <= holder.fence) throw new Error(`fence ${lease.fence} after ${holder.fence}`);
  return performance.now() - killedAt;
}

console.log(`${rounds} rounds of ${cycles} cycles; ${contenders} contenders; ${takeovers} killed holders`);
let failed = false;
for (const kind of chosenStores(values.stores)) {
  await using server = await kind.start();
  const { ours, bare, ratio } = await cycleTimes(kind, server);
  const rate = await contendedRate(kind, server);
  const taken = await Promise.all(Array.from({ length: takeovers }, (_, i) => takeoverMs(kind, server, i)));
  if (ratio > allowed) failed = true;
  console.log(
    [
      kind.name.padEnd(24),
      `cycle ${ours.toFixed(2)} ms, bare ${bare.toFixed(2)} ms: ${ratio.toFixed(2)}×`,
      `contended ${rate.toFixed(0)}/s`,
      `takeover ${(median(taken) / 1000).toFixed(1)} s (${(Math.min(...taken) / 1000).toFixed(1)} to ${(Math.max(...taken) / 1000).toFixed(1)}) of a lease of ${kind.leaseMs / 1000} s`,
    ].join('   '),
  );
}
console.log(
  failed ? `FAILED: more than ${allowed} times the bare client` : `within ${allowed} times the bare client`,
);
process.exitCode = failed ? 1 : 0;
