import { setTimeout as delay } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { createLocks, type Lease, type LockRequest, type LockStore, lead } from '../index.ts';
import type { ContractSubject } from './subject.ts';

/** The store that leaders are elected on. */
export interface LeaderSubject extends Pick<
  ContractSubject,
  'clock' | 'leaseMs' | 'pass' | 'realTime' | 'lose'
> {
  /** A client of its own for each candidate. The contract disposes of it. */
  open: () => Promise<LockStore>;
}

/** One who led, from when to when. */
interface Term {
  candidate: string;
  lease: Lease;
  /** True if all earlier work had ended when it began. */
  alone: boolean;
  over: boolean;
}

interface Candidate extends AsyncDisposable {
  /** Cuts it off: its requests get no answer until it is connected again. */
  connected: (yes: boolean) => void;
  /** Tells it to stop, whether it leads or follows. Resolves when it has. */
  resign: () => Promise<void>;
  /** The id of the lease that it acquired last. */
  leaseId: () => string;
}

/** Tests how leaders are elected on a store. Call it within a `describe` of Vitest. */
export function leaderContract({ clock, leaseMs, pass, realTime, lose, open }: LeaderSubject): void {
  /** An election with these candidates, and what became of it. */
  async function election(names: readonly string[]) {
    const key = `leader-${crypto.randomUUID()}`;
    const terms: Term[] = [];
    const candidates = await Promise.all(names.map((name) => campaign(name)));

    async function campaign(candidate: string): Promise<Candidate> {
      const store = await open();
      const line = breakable(store);
      const stop = new AbortController();
      const locks = createLocks(line.store, { clock, leaseSeconds: leaseMs / 1000 });
      const work = async (lease: Lease) => {
        const term = { candidate, lease, alone: terms.every(({ over }) => over), over: false };
        terms.push(term);
        try {
          // Rejects with an error of its own, as most of what takes a signal does.
          await delay(3_600_000, undefined, { signal: AbortSignal.any([lease.signal, stop.signal]) });
        } catch (error) {
          term.over = true;
          if (!stop.signal.aborted) throw error;
        }
      };
      const done = lead(locks, key, { instance: candidate, job: 'leader' }, work, stop.signal);
      const resign = async () => {
        stop.abort();
        await done;
      };
      return {
        connected: line.connected,
        leaseId: line.leaseId,
        resign,
        async [Symbol.asyncDispose]() {
          line.connected(true);
          await resign();
          await store[Symbol.asyncDispose]();
        },
      };
    }

    /** Lets time pass until somebody leads for the nth time. */
    async function term(count: number): Promise<Term & { leader: Candidate }> {
      for (let passed = 0; ; passed += 50) {
        const latest = terms[count - 1];
        const leader = candidates[names.indexOf(latest?.candidate ?? '')];
        if (latest !== undefined && leader !== undefined) return { ...latest, leader };
        if (passed > 10 * leaseMs + 20_000) throw new Error(`nobody led for the ${count}th time`);
        await pass(50);
      }
    }

    return {
      key,
      terms,
      term,
      async [Symbol.asyncDispose]() {
        const ending = candidates.map((candidate) => candidate[Symbol.asyncDispose]());
        await pass(realTime ? 0 : leaseMs);
        await Promise.all(ending);
      },
    };
  }

  describe('leaders', { concurrent: realTime }, () => {
    test('one leads for longer than its lease lasts; when it resigns, another leads', async ({ expect }) => {
      await using vote = await election(['a', 'b', 'c']);
      const first = await vote.term(1);
      await pass(2.5 * leaseMs);
      first.lease.assertHeld();
      expect(vote.terms).toHaveLength(1);
      await first.leader.resign();
      const second = await vote.term(2);
      expect(second.alone).toBe(true);
      expect(second.candidate).not.toBe(first.candidate);
      expect(second.lease.fence).toBeGreaterThan(first.lease.fence);
    });

    test('one whose lease is taken away is told; the next term has a higher fence', async ({ expect }) => {
      await using vote = await election(['a', 'b']);
      const first = await vote.term(1);
      await lose(vote.key, first.leader.leaseId());
      const second = await vote.term(2);
      expect(second.lease.fence).toBeGreaterThan(first.lease.fence);
      await pass(leaseMs);
      expect(first.lease.lost).toBeDefined();
      expect(vote.terms[0]?.over).toBe(true);
    });

    test('one that is cut off stops before the next leader starts, and leads again later', async ({
      expect,
    }) => {
      await using vote = await election(['a', 'b']);
      const first = await vote.term(1);
      first.leader.connected(false);
      const second = await vote.term(2);
      expect(second.alone).toBe(true);
      expect(first.lease.lost?.reason).toBe('unreachable');
      expect(second.candidate).not.toBe(first.candidate);
      first.leader.connected(true);
      second.leader.connected(false);
      const third = await vote.term(3);
      expect(third.candidate).toBe(first.candidate);
      expect(third.alone).toBe(true);
      expect(third.lease.fence).toBeGreaterThan(second.lease.fence);
    });
  });
}

/** A store behind a line that can be cut. */
function breakable(store: LockStore) {
  let cut = false;
  let acquired = '';
  /** Resolves if the line is up; otherwise rejects, once the caller gives up. */
  const line = async (signal: AbortSignal) => {
    if (!cut) return;
    await aborted(signal);
    throw signal.reason;
  };
  const behind: LockStore = {
    ...store,
    look: (key, signal) => line(signal).then(() => store.look(key, signal)),
    create: (key, signal) => line(signal).then(() => store.create(key, signal)),
    acquire: (key, leaseId, leaseMs, signal) =>
      line(signal).then(async () => {
        const answer = await store.acquire(key, leaseId, leaseMs, signal);
        if (answer === 'acquired') acquired = leaseId;
        return answer;
      }),
    ...(store.take && {
      take: (key: string, leaseId: string, ...rest: [LockRequest, AbortSignal]) =>
        line(rest[1]).then(async () => {
          const fence = (await store.take?.(key, leaseId, ...rest)) ?? 'held';
          if (fence !== 'held') acquired = leaseId;
          return fence;
        }),
    }),
    raise: (key, leaseId, record, version, signal) =>
      line(signal).then(() => store.raise(key, leaseId, record, version, signal)),
    renew: (key, leaseId, leaseMs, signal) =>
      line(signal).then(() => store.renew(key, leaseId, leaseMs, signal)),
    release: (key, leaseId, signal) => line(signal).then(() => store.release(key, leaseId, signal)),
  };
  const connected = (yes: boolean) => {
    cut = !yes;
  };
  return { store: behind, connected, leaseId: () => acquired };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
