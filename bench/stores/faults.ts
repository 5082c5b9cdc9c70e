/**
 * Leases under faults, on each store (`npm run bench -- store-faults`). Each trial has a holder behind a proxy and a competitor
 * that asks for the lock directly all the time. At a random moment something happens: the network fails, which only a request
 * of the holder can show, or its connections are reset while it asks for nothing, or its sessions are ended by the server, or
 * the server is killed and started anew on its data.
 *
 * An overlap is a moment at which the competitor has the lock and the holder still trusts its lease: its signal has not
 * aborted, and `assertHeld` would pass. Where the network recovers, whatever was held up arrives late, and must not disturb
 * the competitor.
 *
 * Exits with 1 after an overlap or a disturbed competitor. `--stores redis,etcd`, `--trials N` per fault, `--together N` at a
 * time.
 *
 * `--wipes N` instead: the servers lose all of their data N times, Redis and a majority of the quorum, while three processes
 * compete. Two may then hold the lock, but fences must rise.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { createLocks, type Lease, type LockStore } from '../../packages/leases/src/index.ts';
import { openLockStore } from '../../test/support/openLockStore.ts';
import { startTcpProxies, type TcpProxies } from '../../test/support/tcpProxies.ts';
import type { BenchStore, BenchStoreKind } from './benchStore.ts';
import { chosenStores } from './index.ts';
import { wipe } from './wipes.ts';

const { values } = parseArgs({
  options: {
    stores: { type: 'string' },
    trials: { type: 'string', default: '50' },
    together: { type: 'string', default: '10' },
    wipes: { type: 'string' },
  },
});
const trials = Number(values.trials);
const together = Number(values.together);

interface Fault {
  name: string;
  begin: (proxies: TcpProxies, leaseMs: number) => unknown;
  /** It strikes the trials that run at the same time, and their competitors, too. */
  ofAll?: boolean;
}

const ofNetwork: readonly Fault[] = [
  { name: 'frozen server', begin: (network) => network.fault({ kind: 'hold' }) },
  { name: 'black hole', begin: (network) => network.fault({ kind: 'blackHole' }) },
  { name: 'reset by a request', begin: (network) => network.fault({ kind: 'resetBefore' }) },
  {
    name: 'slow success',
    begin: (network, leaseMs) => network.fault({ kind: 'slowSuccess', ms: leaseMs / 3 }),
  },
  { name: 'reset while idle', begin: (network) => network.resetNow() },
];

function faultsOf({ endSessions, restart }: BenchStore, leaseMs: number): Fault[] {
  return [
    ...ofNetwork,
    ...(endSessions === undefined
      ? []
      : [{ name: 'sessions ended', begin: atOnce(endSessions, leaseMs), ofAll: true }]),
    ...(restart === undefined ? [] : [{ name: 'restart', begin: atOnce(restart, leaseMs), ofAll: true }]),
  ];
}

/** Several that ask for it within `gapMs` milliseconds get it once. */
function atOnce(work: () => Promise<void>, gapMs: number): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= last
      .then(() => systemClock.sleep(gapMs))
      .then(() => {
        next = undefined;
        last = work();
        return last;
      });
    return next;
  };
}

interface Outcome {
  /** Milliseconds for which both had the lock; undefined if the holder kept it. */
  overlapMs: number | undefined;
  /** The answer to a renewal by the competitor once the network had recovered; undefined where it may be anything. */
  renewed: unknown;
}

const trusts = (lease: Lease) => lease.lost === undefined && !lease.signal.aborted;

async function trial(
  { leaseMs }: BenchStoreKind,
  server: BenchStore,
  direct: LockStore,
  fault: Fault,
): Promise<Outcome> {
  const key = `faults/${randomUUID()}`;
  await using proxies = await startTcpProxies(server.ports);
  await using store = await openLockStore(server.address(proxies.at));
  const locks = createLocks(store, { leaseSeconds: leaseMs / 1000 });
  const lease = await locks.acquire(key, { instance: 'holder', job: 'faults' }, { waitMs: 120_000 });
  await systemClock.sleep(Math.random() * leaseMs * 0.6);
  const begun = fault.begin(proxies, leaseMs);
  const id = randomUUID();
  // A holder that is left alone for so long keeps its lease.
  const until = performance.now() + 3 * leaseMs;
  for (;;) {
    const answer = await direct
      .acquire(key, id, leaseMs, AbortSignal.timeout(leaseMs))
      .catch(() => 'unknown');
    if (answer === 'acquired') break;
    if (performance.now() > until && trusts(lease)) {
      await begun;
      await lease.release();
      return { overlapMs: undefined, renewed: undefined };
    }
    await systemClock.sleep(50);
  }
  const takenAt = performance.now();
  const both = trusts(lease);
  while (trusts(lease)) await systemClock.sleep(1);
  const overlapMs = both ? performance.now() - takenAt : 0;
  await begun;
  proxies.fault({ kind: 'none' });
  await systemClock.sleep(leaseMs / 4);
  const renewed = await renewal(direct, key, id, leaseMs);
  await direct.release(key, id, AbortSignal.timeout(leaseMs)).catch(() => {});
  return { overlapMs, renewed: fault.ofAll === true ? undefined : renewed };
}

/** The answer to a renewal. None within half a lease says nothing, and is asked for once more. */
async function renewal(store: LockStore, key: string, id: string, leaseMs: number): Promise<unknown> {
  const ask = () => store.renew(key, id, leaseMs, AbortSignal.timeout(Math.ceil(leaseMs / 2)));
  return ask().catch(() => ask().catch(String));
}

async function underFaults(kind: BenchStoreKind): Promise<boolean> {
  await using server = await kind.start({ durable: true });
  await using direct = await openLockStore(server.address((port) => port));
  let good = true;
  for (const fault of faultsOf(server, kind.leaseMs)) {
    const outcomes: Outcome[] = [];
    let started = 0;
    await Promise.all(
      Array.from({ length: together }, async () => {
        while (started++ < trials) outcomes.push(await trial(kind, server, direct, fault));
      }),
    );
    const lost = outcomes.flatMap(({ overlapMs }) => overlapMs ?? []);
    const overlaps = lost.filter((ms) => ms > 0);
    const disturbed = outcomes.flatMap(({ renewed }) =>
      renewed === undefined || renewed === 'renewed' ? [] : [JSON.stringify(renewed)],
    );
    if (overlaps.length > 0 || disturbed.length > 0) good = false;
    console.log(
      `${kind.name.padEnd(24)} ${fault.name.padEnd(18)} ${outcomes.length} leases, ${outcomes.length - lost.length} kept, ` +
        `${overlaps.length} overlaps${overlaps.length > 0 ? ` of up to ${Math.ceil(Math.max(...overlaps))} ms` : ''}, ` +
        `${disturbed.length} competitors disturbed ${[...new Set(disturbed)].join()}`,
    );
  }
  return good;
}

let good = true;
for (const kind of chosenStores(values.stores)) {
  const passed =
    values.wipes === undefined ? await underFaults(kind) : await wipe(kind, Number(values.wipes));
  good &&= passed;
}
process.exitCode = good ? 0 : 1;
