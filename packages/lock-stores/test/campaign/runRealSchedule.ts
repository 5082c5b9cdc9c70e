import { randomUUID } from 'node:crypto';
import type { BenchStore } from '../../../../bench/stores/benchStore.ts';
import { openLockStore } from '../../../../test/support/openLockStore.ts';
import type { SeededRandom } from '../../../../test/support/seededRandom.ts';
import { startTcpProxies, type TcpProxies } from '../../../../test/support/tcpProxies.ts';
import type { TcpFault } from '../../../../test/support/tcpProxy.ts';
import { type Clock, systemClock } from '../../../leases/src/clock.ts';
import {
  createLocks,
  type Lease,
  LeaseLost,
  type LockStore,
  LockTimeout,
} from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { fencedRegister } from '../../../leases/test/model/fencedRegister.ts';

/** Number of events of a schedule, by kind. A campaign that never saw one of these proves little. */
export interface Coverage {
  tenures: number;
  losses: number;
  accepted: number;
  fencedOut: number;
  faults: number;
}

export interface RealSchedule {
  server: BenchStore;
  leaseMs: number;
  /** Time during which the network fails (ms); then all is calm. */
  chaosMs: number;
  random: SeededRandom;
}

/** One process on its own piece of network. Its clock stands still while it is frozen. */
interface Machine {
  name: string;
  proxies: TcpProxies;
  store: LockStore;
  clock: Clock;
  lease: Lease | undefined;
  enteredInCalm: boolean;
  freeze: () => void;
  thaw: () => void;
}

/**
 * The schedules of the model, in real time and on a real server: machines compete for one lock and write under it, while
 * their networks fail, they freeze, and their leases are broken. Rejects if one of these is violated:
 * - of two machines that trust their leases at the same time, one has lost it by force;
 * - an accepted write never comes from an earlier tenure than one accepted before it;
 * - in the calm, every machine gets in.
 */
export async function runRealSchedule({ server, leaseMs, chaosMs, random }: RealSchedule): Promise<Coverage> {
  const key = `campaign/${randomUUID()}`;
  const register = fencedRegister();
  const coverage: Coverage = { tenures: 0, losses: 0, accepted: 0, fencedOut: 0, faults: 0 };
  const story: string[] = [];
  const startedAt = performance.now();
  const note = (what: string) =>
    story.push(`${(performance.now() - startedAt).toFixed(0).padStart(7)} ms  ${what}`);
  const forced = new Set<Lease>();
  let highest = 0;
  let calm = false;
  let over = false;
  let violation: string | undefined;
  const violated = (what: string) => {
    note(`VIOLATION: ${what}`);
    violation ??= `${what}\n${story.slice(-60).join('\n')}`;
  };

  await using direct = await openLockStore(server.address((port) => port));
  await using machines = await startMachines(server, 3, random);

  async function work(machine: Machine): Promise<void> {
    const locks = createLocks(machine.store, {
      clock: machine.clock,
      telemetry: noTelemetry,
      leaseSeconds: leaseMs / 1000,
      backoff: { firstMs: 50, mostMs: 400 },
      // The highest fence that the register has seen, so that a server that lost its data goes on above it.
      fenceFloor: async () => register.seen(),
    });
    while (!over && !machine.enteredInCalm) {
      try {
        await using lease = await locks.acquire(
          key,
          { instance: machine.name, job: 'campaign' },
          { waitMs: leaseMs },
        );
        machine.lease = lease;
        coverage.tenures++;
        note(`${machine.name} holds it with fence ${lease.fence}`);
        for (let writes = random.between(1, 3); writes > 0; writes--) {
          await machine.clock.sleep(random.next() * (calm ? 50 : leaseMs / 2));
          lease.assertHeld();
          if (!forced.has(lease)) checkTrust(machine, lease);
          write(machine, lease.fence);
        }
        if (calm) machine.enteredInCalm = true;
      } catch (error) {
        if (error instanceof LeaseLost) coverage.losses++;
        else if (!(error instanceof LockTimeout)) violated(`${machine.name} failed: ${String(error)}`);
        note(`${machine.name}: ${textOf(error)}`);
      }
    }
  }

  function checkTrust(machine: Machine, lease: Lease): void {
    const others = machines.all.filter((other) => other !== machine && other.lease !== undefined);
    for (const { name, lease: held } of others) {
      if (held === undefined || held === lease || forced.has(held) || !trusts(held)) continue;
      violated(`${machine.name} and ${name} both trust their leases`);
    }
  }

  function write(machine: Machine, fence: number): void {
    const written = register.write(fence);
    coverage[written]++;
    if (written === 'accepted' && fence < highest) violated(`a stale write of ${machine.name} was accepted`);
    highest = Math.max(highest, fence);
    if (written === 'fencedOut' && calm) note(`${machine.name} is fenced out with ${fence}`);
  }

  async function disturb(): Promise<void> {
    while (performance.now() - startedAt < chaosMs && violation === undefined) {
      await systemClock.sleep(random.next() * leaseMs * 0.4);
      const machine = random.pick(machines.all);
      coverage.faults++;
      const draw = random.next();
      if (draw < 0.6) {
        const fault = random.pick(faultsFor(leaseMs));
        note(`the network of ${machine.name}: ${JSON.stringify(fault)}`);
        machine.proxies.fault(fault);
      } else if (draw < 0.75) {
        note(`${machine.name} freezes`);
        machine.freeze();
      } else if (draw < 0.93) {
        machine.thaw();
        machine.proxies.fault({ kind: 'none' });
      } else await breakLease();
    }
  }

  async function breakLease(): Promise<void> {
    if (direct.break === undefined) return;
    const signal = AbortSignal.timeout(leaseMs);
    const view = await direct.look(key, signal).catch(() => undefined);
    if (view?.held !== true) return;
    // A holder that trusts its lease now may have lost it by then.
    for (const { lease } of machines.all) if (lease !== undefined && trusts(lease)) forced.add(lease);
    note('the lease is broken');
    await direct.break(key, view.version, signal).catch(() => 'unknown');
    for (const { lease } of machines.all) if (lease !== undefined && trusts(lease)) forced.add(lease);
  }

  const working = Promise.all(machines.all.map(work));
  await disturb();
  note('calm');
  calm = true;
  for (const machine of machines.all) {
    machine.proxies.fault({ kind: 'none' });
    // A connection that lost bytes stays silent to its end.
    machine.proxies.resetNow();
    machine.thaw();
  }
  const late = systemClock.sleep(10 * leaseMs + 30_000).then(() => {
    if (!machines.all.every(({ enteredInCalm }) => enteredInCalm)) violated('a machine never got in');
  });
  await Promise.race([working, late]);
  over = true;
  await working;
  if (violation !== undefined) throw new Error(violation);
  return coverage;
}

/** An error with all that caused it. */
function textOf(error: unknown): string {
  const text = String(error);
  return error instanceof Error && error.cause !== undefined
    ? `${text}, caused by ${textOf(error.cause)}`
    : text;
}

/** True if a holder would still pass `assertHeld`. */
function trusts(lease: Lease): boolean {
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

function faultsFor(leaseMs: number): TcpFault[] {
  return [
    { kind: 'blackHole' },
    { kind: 'hold' },
    { kind: 'resetBefore' },
    { kind: 'resetAfter' },
    { kind: 'delay', ms: leaseMs / 4 },
    { kind: 'slowSuccess', ms: leaseMs / 3 },
    { kind: 'none' },
  ];
}

async function startMachines(server: BenchStore, count: number, random: SeededRandom) {
  const ending = new AsyncDisposableStack();
  const all: Machine[] = [];
  for (let i = 0; i < count; i++) {
    const proxies = ending.use(await startTcpProxies(server.ports));
    const store = ending.use(await openLockStore(server.address(proxies.at)));
    all.push({
      name: `m${i}`,
      proxies,
      store,
      lease: undefined,
      enteredInCalm: false,
      ...freezable(0.95 + random.next() * 0.1),
    });
  }
  return { all, [Symbol.asyncDispose]: () => ending.disposeAsync() };
}

/** A clock of its own speed, whose sleepers do not wake while it is frozen. Time passes all the same. */
function freezable(rate: number): Pick<Machine, 'clock' | 'freeze' | 'thaw'> {
  let gate = Promise.withResolvers<void>();
  let frozen = false;
  gate.resolve();
  return {
    clock: {
      now: () => Date.now(),
      monotonic: () => performance.now() * rate,
      async sleep(ms, signal) {
        await systemClock.sleep(ms / rate, signal);
        await gate.promise;
      },
    },
    freeze() {
      if (!frozen) gate = Promise.withResolvers<void>();
      frozen = true;
    },
    thaw() {
      frozen = false;
      gate.resolve();
    },
  };
}
