import { expect, test } from 'vitest';
import { isFull } from '../../../../test/support/onlyInFull.ts';
import { type SeededRandom, seededRandom } from '../../../../test/support/seededRandom.ts';
import { type VirtualClock, virtualClock } from '../../../../test/support/virtualClock.ts';
import {
  createLocks,
  type Lease,
  LeaseLost,
  type LockStore,
  LockTimeout,
} from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { type MemoryLockStore, memoryLockStore } from '../../../leases/src/testing/memoryLockStore.ts';
import { never } from '../../../leases/src/testing/subject.ts';
import { quorumLockStore } from '../../src/quorum/quorumLockStore.ts';

const { LOCKING_QUORUM_SCHEDULES: ofCampaign, LOCKING_SEED: chosen } = process.env;
const schedules = Number(ofCampaign ?? (isFull ? 20 : 7));
/** Few schedules do not have every event: those of a test are always the same. */
const seed = Number(chosen ?? (ofCampaign === undefined ? 1 : Date.now() % 2_000_000_000));
const key = 'the-lock';

/** One store of the quorum. */
interface Member {
  store: MemoryLockStore;
  down: boolean;
  /** Rises when it is started anew: requests on their way to it are lost then. */
  starts: number;
  /** The fence that it had when it lost its data. It is up to date again once it has one that is no smaller. */
  lostFence: number;
}

/** Number of events of a schedule, by kind. */
interface Coverage {
  tenures: number;
  losses: number;
  forgotten: number;
  outages: number;
}

/** A candidate's way to a member: slow at random, and sometimes it loses a request or an answer. */
function throughNetwork(
  member: Member,
  clock: VirtualClock,
  random: () => number,
  calm: () => boolean,
): LockStore {
  async function carry<T>(signal: AbortSignal, apply: () => Promise<T>): Promise<T> {
    const { starts } = member;
    const loses = () => !calm() && random() < 0.02;
    const lost = () => new Promise<never>((_, reject) => onAbort(signal, reject));
    // It arrives even if its sender has given up.
    const slow = !calm() && random() < 0.1;
    await clock.sleep(random() * (slow ? 3_000 : 20));
    if (member.down || member.starts !== starts || loses()) return lost();
    const answer = await apply();
    await clock.sleep(random() * 20);
    return member.starts !== starts || loses() ? lost() : answer;
  }
  const { store } = member;
  return {
    traits: store.traits,
    look: (name, signal) => carry(signal, () => store.look(name, signal)),
    create: (name, signal) => carry(signal, () => store.create(name, signal)),
    acquire: (name, id, ms, signal) => carry(signal, () => store.acquire(name, id, ms, never)),
    raise: (name, id, record, version, signal) =>
      carry(signal, () => store.raise(name, id, record, version, never)),
    renew: (name, id, ms, signal) => carry(signal, () => store.renew(name, id, ms, never)),
    release: (name, id, signal) => carry(signal, () => store.release(name, id, never)),
    async [Symbol.asyncDispose]() {},
  };
}

/** -1: no record; undefined: no lock. */
async function fenceOf(store: LockStore): Promise<number | undefined> {
  const view = await store.look(key, never);
  return view && (view.record?.fence ?? -1);
}

function onAbort(signal: AbortSignal, reject: (reason: unknown) => void): void {
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
}

/**
 * Candidates compete while at most a minority of the stores is down, or has lost its data and is not up to date yet. At no
 * time do two of them trust a lease; every tenure has a higher fence than those before it; in the end somebody gets in.
 */
async function runSchedule(size: number, chance: SeededRandom): Promise<Coverage> {
  const random = () => chance.next();
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const members = Array.from({ length: size }, (): Member => {
    return { store: memoryLockStore(() => clock.monotonic()), down: false, starts: 0, lostFence: -1 };
  });
  const coverage: Coverage = { tenures: 0, losses: 0, forgotten: 0, outages: 0 };
  const trusted = new Map<string, Lease>();
  let latestFence = 0;
  let calm = false;
  let ending = false;
  for (const { store } of members) await store.create(key, never);

  function checkAlone(name: string): void {
    for (const [other, lease] of trusted) {
      if (other !== name && lease.lost === undefined)
        throw new Error(`${name} and ${other} both trust a lease`);
    }
  }

  async function compete(name: string): Promise<void> {
    const store = quorumLockStore(
      members.map((member) => throughNetwork(member, clock, random, () => calm)),
      { clock, random },
    );
    const locks = createLocks(store, { clock, telemetry: noTelemetry, leaseSeconds: 15, random });
    while (!ending) {
      try {
        await using lease = await locks.acquire(key, { instance: name, job: 'model' }, { waitMs: 30_000 });
        coverage.tenures++;
        trusted.set(name, lease);
        if (lease.fence <= latestFence) throw new Error(`fence ${lease.fence} after ${latestFence}`);
        latestFence = lease.fence;
        for (let steps = Math.floor(random() * 4); steps >= 0; steps--) {
          lease.assertHeld();
          checkAlone(name);
          await clock.sleep(random() * 10_000);
        }
        trusted.delete(name);
      } catch (error) {
        trusted.delete(name);
        if (error instanceof LeaseLost) coverage.losses++;
        else if (!(error instanceof LockTimeout)) throw error;
      }
    }
  }

  async function disturb(): Promise<void> {
    const fences = await Promise.all(members.map(({ store }) => fenceOf(store)));
    const faulty = members.filter(({ down, lostFence }, i) => down || (fences[i] ?? -2) < lostFence).length;
    const chosen = Math.floor(random() * size);
    const member = members[chosen];
    if (member === undefined) return;
    const draw = random();
    if (member.down && draw < 0.4) member.down = false;
    if (faulty >= Math.floor((size - 1) / 2) || member.down) return;
    if (draw < 0.15) {
      member.starts++;
      member.lostFence = fences[chosen] ?? -1;
      member.store.delete(key);
      coverage.forgotten++;
    } else if (draw < 0.3) {
      member.down = true;
      coverage.outages++;
    }
  }

  let failure: Error | undefined;
  const candidates = ['a', 'b', 'c'].map((name) =>
    compete(name).catch((error: unknown) => {
      failure ??= new Error('a candidate failed', { cause: error });
    }),
  );
  for (let i = 0; i < 120 && failure === undefined; i++) {
    await disturb();
    await clock.advance(random() * 4_000);
  }
  for (const member of members) member.down = false;
  calm = true;
  await clock.advance(20_000);
  const before = coverage.tenures;
  await clock.advance(120_000);
  ending = true;
  await clock.advance(120_000);
  if (failure !== undefined) throw failure;
  await Promise.all(candidates);
  expect(coverage.tenures).toBeGreaterThan(before);
  return coverage;
}

test.each([3, 4, 5])(
  `no schedule of ${schedules} breaks a lease on a quorum of %i (seed ${seed})`,
  async (size) => {
    const all: Coverage[] = [];
    for (let i = 0; i < schedules; i++) {
      const own = seed + i;
      all.push(
        await runSchedule(size, seededRandom(own)).catch((error: unknown) => {
          throw new Error(`LOCKING_SEED=${own}`, { cause: error });
        }),
      );
    }
    const sum = (what: keyof Coverage) => all.reduce((total, coverage) => total + coverage[what], 0);
    for (const what of ['tenures', 'losses', 'forgotten', 'outages'] as const) {
      expect(sum(what), what).toBeGreaterThan(0);
    }
    console.log(
      ['tenures', 'losses', 'forgotten', 'outages'].map((w) => `${w} ${sum(w as keyof Coverage)}`).join(', '),
    );
  },
  60_000 + schedules * 1_000,
);
