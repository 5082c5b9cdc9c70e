import type { Scheduler } from 'fast-check';
import { bounded, RequestTimedOut } from '../../src/clock.ts';
import { createLocks, LeaseLost, LockTimeout } from '../../src/index.ts';
import { noTelemetry } from '../../src/telemetry.ts';
import type { MemoryLockStore } from '../../src/testing/memoryLockStore.ts';
import { leaseTiming } from '../../src/timing.ts';
import { fencedRegister } from './fencedRegister.ts';
import { createWorld, type Machine } from './world.ts';

const key = 'the-lock';
const chaosSteps = 160;
const calmSteps = 4000;
const never = new AbortController().signal;

/** Number of events of a schedule, by kind. */
export interface Coverage {
  tenures: number;
  losses: number;
  accepted: number;
  fencedOut: number;
  steps: number;
}

/**
 * Runs one schedule: machines compete for one lock and write under it, while packets are lost, machines
 * freeze and die, and the lease is broken from outside. Then all is calm. Rejects with the story of the
 * schedule if one of these is violated:
 * - a machine that `assertHeld()` has just let pass holds the lock, unless its lease was broken;
 * - an accepted write never comes from an earlier tenure than one accepted before it;
 * - in the calm, every live machine gets in.
 */
export async function runSchedule(scheduler: Scheduler, seed: number): Promise<Coverage> {
  const world = createWorld(scheduler, seed);
  const { locks, random } = world;
  const register = fencedRegister();
  /** The fences in the order the lock store granted them. */
  const granted: number[] = [];
  const broken = new Set<string>();
  const coverage: Coverage = { tenures: 0, losses: 0, accepted: 0, fencedOut: 0, steps: 0 };
  let violation: string | undefined;
  let newestWriter = -1;
  let calm = false;
  const enteredInCalm = new Set<Machine>();

  const violated = (what: string) => {
    world.note(`VIOLATION: ${what}`);
    violation ??= what;
  };

  const raise = locks.raise.bind(locks);
  locks.raise = async (...request) => {
    const outcome = await raise(...request);
    if (outcome === 'raised') {
      const { fence } = request[2];
      if (granted.includes(fence)) violated(`fence ${fence} was granted twice`);
      granted.push(fence);
    }
    return outcome;
  };

  async function work(machine: Machine): Promise<void> {
    const own = createLocks(machine.store, {
      clock: machine.clock,
      telemetry: noTelemetry,
      timing: leaseTiming(30),
      backoff: { firstMs: 500, mostMs: 4000 },
      random,
    });
    // In the calm each enters once: retaking a lock without a pause leaves no gap for others.
    while (!enteredInCalm.has(machine)) {
      try {
        await using lease = await own.acquire(
          key,
          { instance: machine.name, job: 'model' },
          { waitMs: 60_000 },
        );
        world.note(`${machine.name} holds it with fence ${lease.fence}`);
        coverage.tenures++;
        if (calm) enteredInCalm.add(machine);
        for (let writes = 1 + Math.floor(random() * 3); writes > 0; writes--) {
          await machine.clock.sleep(random() * (calm ? 1000 : 20_000));
          lease.assertHeld();
          checkTrust(machine);
          await machineWrites(machine, lease.fence);
        }
      } catch (error) {
        if (!expected(error)) throw error;
        if (error instanceof LeaseLost) coverage.losses++;
        world.note(`${machine.name}: ${String(error)}`);
      }
    }
  }

  function checkTrust(machine: Machine): void {
    const { leaseId = '' } = machine;
    if (locks.holder(key) !== leaseId && !broken.has(leaseId)) {
      violated(`${machine.name} trusts a lease that it does not hold`);
    }
  }

  async function machineWrites(machine: Machine, fence: number): Promise<void> {
    const write = async () => {
      const written = register.write(fence);
      const tenure = granted.indexOf(fence);
      if (written === 'accepted' && tenure < newestWriter)
        violated(`a stale write of fence ${fence} was accepted`);
      coverage[written]++;
      newestWriter = Math.max(newestWriter, tenure);
      return written;
    };
    const outcome = await bounded(machine.clock, 5000, () => world.carry(machine, `write ${fence}`, write));
    if (outcome === 'fencedOut') throw new Error('fenced out');
  }

  const machines = Array.from({ length: 2 + Math.floor(random() * 3) }, (_, i) => world.addMachine(`m${i}`));
  let failure: unknown;
  for (const machine of machines) work(machine).catch((error: unknown) => (failure ??= error));

  for (let i = 0; i < chaosSteps && violation === undefined && failure === undefined; i++) {
    await disturb(machines, random, locks, broken, world.note);
    coverage.steps++;
    await world.step();
  }
  world.calmDown();
  calm = true;
  for (const machine of machines) machine.thaw();
  const alive = machines.filter(({ state }) => state === 'running');
  const done = () => alive.every((machine) => enteredInCalm.has(machine));
  for (let i = 0; i < calmSteps && !done() && violation === undefined && failure === undefined; i++) {
    coverage.steps++;
    await world.step();
  }
  if (violation === undefined && failure === undefined && !done()) violated('a waiter never got in');
  if (failure !== undefined) throw new Error('a machine failed', { cause: failure });
  if (violation !== undefined) throw new Error(`${violation}\n${world.story()}`);
  return coverage;
}

/** Occasionally disturbs a machine or the lock. At least one machine stays alive. */
async function disturb(
  machines: Machine[],
  random: () => number,
  locks: MemoryLockStore,
  broken: Set<string>,
  note: (what: string) => void,
): Promise<void> {
  const draw = random();
  const machine = machines[Math.floor(random() * machines.length)];
  if (machine === undefined || draw > 0.066) return;
  if (draw < 0.025) return machine.freeze();
  if (draw < 0.05) return machine.thaw();
  if (draw < 0.054) {
    if (machines.filter(({ state }) => state !== 'dead').length > 1) machine.kill();
    return;
  }
  const view = await locks.look(key, never);
  const holder = locks.holder(key);
  if (view === undefined || holder === undefined) return;
  note('the lease is broken from outside');
  broken.add(holder);
  await locks.break(key, view.version, never);
}

/** True for an error that a machine may run into without a bug in the code. */
function expected(error: unknown): boolean {
  if (error instanceof LeaseLost || error instanceof LockTimeout || error instanceof RequestTimedOut)
    return true;
  return error instanceof Error && /^(reset before|reset after|fenced out)$/.test(error.message);
}
