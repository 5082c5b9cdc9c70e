import type { Scheduler } from 'fast-check';
import type { Clock } from '../../src/clock.ts';
import type { LockStore } from '../../src/index.ts';
import { type MemoryLockStore, memoryLockStore } from '../../src/testing/memoryLockStore.ts';

/** One machine of the world. */
export interface Machine {
  name: string;
  /** Speed of its clock: 0.92 is 8 % slow. */
  rate: number;
  clock: Clock;
  /** The lock store as seen through its network. */
  store: LockStore;
  /** The id of the lease it last asked for. */
  leaseId: string | undefined;
  state: 'running' | 'frozen' | 'dead';
  freeze(): void;
  thaw(): void;
  kill(): void;
}

export interface World {
  locks: MemoryLockStore;
  addMachine(name: string): Machine;
  /** True time in milliseconds. */
  now(): number;
  /** Returns values in [0, 1). The only source of chance besides the scheduler. */
  random: () => number;
  /**
   * Sends a request over the network of a machine. It may arrive late; during chaos it may also be lost or
   * fail.
   */
  carry<T>(machine: Machine, what: string, apply: () => Promise<T>): Promise<T>;
  /** Lets the scheduler pick the next event: a packet, a due timer, or time moving on. */
  step(): Promise<void>;
  /** From now on nothing is lost, and time moves on only if there is nothing else to do. */
  calmDown(): void;
  note: (what: string) => void;
  /** Tells what happened, in order. */
  story(): string;
}

interface Sleep {
  machine: Machine;
  due: number;
  wake: () => void;
}

/** The fate of a lost packet. A new promise each time: a shared one would keep every schedule in memory. */
const nothing = () => new Promise<never>(() => {});

/** Where wall-clock time begins: a plausible date, since fences may start from it. */
const epoch = Date.UTC(2026, 0, 1);

/**
 * Machines with clocks of different speeds, a network and a lock store, all in virtual time. Every possible
 * event waits in fast-check's scheduler, which picks the order. Time moving on is one of those events, so any
 * packet and any timer may be late by any span.
 */
export function createWorld(scheduler: Scheduler, seed: number): World {
  const random = mulberry32(seed);
  const sleeps = new Set<Sleep>();
  const gates = new Map<Machine, { open: () => void; opened: Promise<void> }>();
  const events: [number, string][] = [];
  let now = 0;
  let chaos = true;
  let ticking = false;

  const locks = memoryLockStore(() => now);
  const note = (what: string) => events.push([now, what]);

  /** Resolves once the machine runs; never if it is dead. */
  async function awake(machine: Machine): Promise<void> {
    while (machine.state !== 'running') await gates.get(machine)?.opened;
  }

  function span(): number {
    const next = Math.min(...[...sleeps].map(({ due }) => due));
    const toNext = Number.isFinite(next) ? Math.max(0, next - now) : 1000;
    const draw = random();
    if (!chaos || draw < 0.25) return toNext;
    if (draw < 0.6) return random() * 300;
    if (draw < 0.88) return random() * 2000;
    if (draw < 0.98) return random() * 6000;
    return random() * 40_000;
  }

  async function tick(): Promise<void> {
    ticking = true;
    await scheduler.schedule(Promise.resolve(), 'time');
    ticking = false;
    now += span();
    for (const sleep of sleeps) {
      if (sleep.due > now) continue;
      sleeps.delete(sleep);
      void (async () => {
        await scheduler.schedule(Promise.resolve(), `${sleep.machine.name} timer`);
        await awake(sleep.machine);
        sleep.wake();
      })();
    }
  }

  async function carry<T>(machine: Machine, what: string, apply: () => Promise<T>): Promise<T> {
    const fate = chaos ? random() : 1;
    // Some packets take a detour.
    for (let hops = chaos && random() < 0.08 ? 25 : 1; hops > 0; hops--) {
      await scheduler.schedule(Promise.resolve(), `${machine.name} → ${what}`);
    }
    if (fate < 0.04) return nothing();
    if (fate < 0.08) {
      await awake(machine);
      throw new Error('reset before');
    }
    const answer = await apply();
    note(`${machine.name} ${what}: ${typeof answer === 'string' ? answer : JSON.stringify(answer)}`);
    await scheduler.schedule(Promise.resolve(), `${machine.name} ← ${what}`);
    if (fate < 0.12) return nothing();
    await awake(machine);
    if (fate < 0.16) throw new Error('reset after');
    return answer;
  }

  function clockOf(machine: Machine): Clock {
    return {
      now: () => epoch + now,
      monotonic: () => now * machine.rate,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason as Error);
          const abort = () => {
            sleeps.delete(sleep);
            reject(signal?.reason as Error);
          };
          const wake = () => {
            signal?.removeEventListener('abort', abort);
            resolve();
          };
          const sleep: Sleep = { machine, due: now + ms / machine.rate, wake };
          sleeps.add(sleep);
          signal?.addEventListener('abort', abort, { once: true });
        }),
    };
  }

  function storeOf(machine: Machine): LockStore {
    return {
      traits: locks.traits,
      look: (key, signal) => carry(machine, 'look', () => locks.look(key, signal)),
      create: (key, signal) => carry(machine, 'create', () => locks.create(key, signal)),
      acquire: (key, id, ms, signal) => {
        machine.leaseId = id;
        return carry(machine, 'acquire', () => locks.acquire(key, id, ms, signal));
      },
      raise: (key, id, record, version, signal) =>
        carry(machine, `raise ${record.fence}`, () => locks.raise(key, id, record, version, signal)),
      renew: (key, id, ms, signal) => carry(machine, 'renew', () => locks.renew(key, id, ms, signal)),
      release: (key, id, signal) => carry(machine, 'release', () => locks.release(key, id, signal)),
      break: (key, version, signal) => carry(machine, 'break', () => locks.break(key, version, signal)),
      list: (prefix, signal) => locks.list(prefix, signal),
      async [Symbol.asyncDispose]() {},
    };
  }

  return {
    locks,
    now: () => now,
    random,
    carry,
    note,
    addMachine(name) {
      const stop = (state: 'frozen' | 'dead') => {
        if (machine.state === 'dead' || machine.state === state) return;
        note(`${name} is ${state}`);
        machine.state = state;
        const { resolve: open, promise: opened } = Promise.withResolvers<void>();
        gates.set(machine, { open, opened });
      };
      const machine: Machine = {
        name,
        rate: 0.92 + random() * 0.16,
        leaseId: undefined,
        state: 'running',
        clock: {} as Clock,
        store: {} as LockStore,
        freeze: () => stop('frozen'),
        kill: () => stop('dead'),
        thaw() {
          if (machine.state !== 'frozen') return;
          note(`${name} runs again`);
          machine.state = 'running';
          gates.get(machine)?.open();
        },
      };
      machine.clock = clockOf(machine);
      machine.store = storeOf(machine);
      return machine;
    },
    async step() {
      if (!ticking && (chaos || scheduler.count() === 0)) void tick();
      await scheduler.waitNext(1);
      // Let everything that follows reach its next wait.
      for (let i = 0; i < 40; i++) await Promise.resolve();
    },
    calmDown() {
      note('chaos ends');
      chaos = false;
    },
    story: () => events.map(([at, what]) => `${String(Math.round(at)).padStart(8)} ms  ${what}`).join('\n'),
  };
}

/** A small seeded random generator of numbers in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
