import {
  checkOwner,
  isPermanent,
  type ListedLock,
  type LockStore,
  type LockView,
  type Refusal,
} from '@payonce/leases';
import { type Clock, systemClock } from '@payonce/leases/clock';
import { acquireByVote } from './acquireByVote.ts';
import { poll, TooFewAnswers } from './poll.ts';
import { type Broken, decideBreak, decideRaise, decideRelease, decideRenew } from './quorumDecisions.ts';
import { quorumMembers } from './quorumMembers.ts';
import { quorumTraits } from './quorumTraits.ts';
import { combined } from './quorumViews.ts';

/** Number of looks that are remembered. Beyond it all of them are forgotten. */
const mostLooks = 1_000;

export interface QuorumOptions {
  /**
   * Time-out of one store (ms), where the others do not decide. Some calls ask twice, and a lease gives each of its requests
   * a sixth of its time, and five seconds at most: it lasts at least twelve times as long. Default: 250; above 2,500 no lock is
   * made while a store is silent.
   */
  memberMs?: number;
  clock?: Clock;
  /** Returns values in [0, 1), for the pauses of candidates that split the vote. Default: Math.random. */
  random?: () => number;
}

/**
 * A lock store made of several that fail independently, best three or five: Redlock
 * (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/) with fences, over stores of any kind. It works
 * while a majority does, and waits for nobody else, unless the majority lacks the lock: before it makes one, it waits for the
 * rest (at most twice `memberMs`), which may know of a holder.
 *
 * A lease holds on a majority of the stores, and ends when it has run out or was lost on so many that no majority is left. A
 * renewal acquires it again where it was lost. The fence is one more than the highest that a majority has seen, and is
 * written to a majority. All holders of a lock should ask for leases of the same length.
 *
 * Each store must keep all of its data when it crashes (for Redis `appendfsync always`), or none of it. One that comes back
 * with none lacks the lock, and has no vote until the holder has brought it up to date, or, where its vote is needed, until
 * one lease has passed. What breaks the lock is a store that comes back with an older copy, as from a snapshot or after a
 * failover to a replica that lags behind; and a majority that lacks the lock, some since they lost their data, while the holder's
 * other stores are out of reach. `packages/lock-stores/test/quorum/hazards.test.ts` shows it. Fences rise even then, unless the
 * members' clocks went back: they are no less than the milliseconds of those.
 *
 * Disposal disposes of the stores.
 *
 * @throws RangeError if there is no length of a lease that all stores grant.
 */
export function quorumLockStore(
  stores: readonly LockStore[],
  { memberMs = 250, clock = systemClock, random = Math.random }: QuorumOptions = {},
): LockStore {
  const traits = quorumTraits(stores, 12 * memberMs);
  const members = quorumMembers(stores, clock, memberMs);
  const { quorum } = members;
  const fenceOf = (view: LockView) => view.record?.fence ?? -1;
  /** The last look at each lock, for the raise that follows. Each member compares the version that it showed then. */
  const looks = new Map<string, Awaited<ReturnType<typeof members.survey>>>();

  async function takeAway(key: string, version: string, signal: AbortSignal): Promise<Broken> {
    const found = await members.survey(key, signal);
    if (found === 'absent' || found.view.version !== version) return 'changed';
    return members.ask<Broken, Broken>(signal, {
      async ask(store, each, member) {
        const view = await found.viewAt(member, each);
        return (view && (await store.break?.(key, view.version, each))) ?? 'changed';
      },
      decide: (ballot) => decideBreak(ballot, quorum),
    });
  }

  async function* list(prefix: string, signal: AbortSignal): AsyncGenerator<ListedLock> {
    const enough = new AbortController();
    try {
      const lists = await poll(stores, clock, undefined, AbortSignal.any([signal, enough.signal]), {
        ask: async (store, each) => Array.fromAsync(store.list?.(prefix, each) ?? []),
        decide: ({ answers }) => (answers.size >= quorum.majority ? [...answers.values()] : undefined),
      });
      const views = Map.groupBy(lists.flat(), ({ key }) => key);
      const unknown = stores.length - lists.length;
      for (const [key, found] of views) yield { key, ...combined(found, unknown, quorum, clock.now()) };
    } finally {
      enough.abort();
    }
  }

  return {
    traits,

    // Without so many members there is no majority.
    isPermanent(error) {
      if (!(error instanceof TooFewAnswers)) return false;
      const denied = error.failures.filter((failure) => stores.some((store) => isPermanent(store, failure)));
      return denied.length >= quorum.blocking;
    },

    async look(key, signal) {
      const found = await members.survey(key, signal);
      looks.delete(key);
      if (looks.size >= mostLooks) looks.clear();
      if (found !== 'absent') looks.set(key, found);
      return found === 'absent' ? undefined : found.view;
    },

    async create(key, signal) {
      const found = traits.looks === 'anyone' ? await members.survey(key, signal) : 'absent';
      // A store that lacks a lock which others have does not get it here: it would have a vote again, too early.
      if (found !== 'absent') return found.view;
      return members.ask(signal, {
        ask: (store, each) => store.create(key, each),
        decide: ({ answers, pending }) =>
          answers.size < quorum.majority
            ? undefined
            : combined([...answers.values()], pending, quorum, clock.now()),
      });
    },

    acquire: (key, leaseId, leaseMs, signal) =>
      acquireByVote(members, { clock, random }, { key, leaseId }, leaseMs, signal),

    async raise(key, leaseId, record, version, signal) {
      checkOwner(record.owner);
      const found = looks.get(key) ?? (await members.survey(key, signal));
      looks.delete(key);
      if (found === 'absent' || found.view.version !== version) return 'changed';
      return members.askInTurn({ key, leaseId }, signal, {
        async ask(store, each, member) {
          const view = await found.viewAt(member, each);
          if (view === undefined || fenceOf(view) >= record.fence) return 'changed';
          return store.raise(key, leaseId, record, view.version, each);
        },
        decide: (ballot) => decideRaise(ballot, quorum),
      });
    },

    renew(key, leaseId, leaseMs, signal) {
      const lease = { key, leaseId };
      return members.askInTurn(lease, signal, {
        ask: (store, each) => store.renew(key, leaseId, leaseMs, each),
        decide: (ballot) => decideRenew(ballot, quorum),
        after: async (store, answer, outcome) => {
          if (outcome !== 'renewed') return;
          const lacking = answer === 'renewed' ? members.behind(store, lease) : answer.reason !== 'broken';
          if (lacking) await members.rejoin(store, lease, leaseMs);
        },
      });
    },

    release: (key, leaseId, signal) =>
      members.askInTurn({ key, leaseId }, signal, {
        ask: (store, each) => store.release(key, leaseId, each),
        decide: (ballot) => decideRelease(ballot, quorum),
      }),

    // A member that has lost the lease once does not count here again: that may end a lease too early, never too late.
    onEnd(key, leaseId, tell) {
      let left = stores.length;
      const end = (why: Refusal) => {
        if (--left === quorum.majority - 1) tell(why);
      };
      for (const store of stores) store.onEnd?.(key, leaseId, end);
    },

    ...(stores.every((store) => store.break !== undefined) ? { break: takeAway } : {}),
    ...(stores.every((store) => store.list !== undefined) ? { list } : {}),

    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
    },
  };
}
