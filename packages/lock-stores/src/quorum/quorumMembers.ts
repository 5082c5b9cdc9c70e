import type { LockStore, LockView } from '@payonce/leases';
import { checkKey } from '@payonce/leases';
import { bounded, type Clock } from '@payonce/leases/clock';
import { poll, type Question } from './poll.ts';
import { type MemberView, type Quorum, quorumOf, type Survey, surveyed } from './quorumViews.ts';
import { turns } from './turns.ts';

/** Number of unfinished rejoins of one store that are remembered. Beyond it all of them are forgotten. */
const mostRejoining = 1_000;

/** The lease that a request is about. */
export interface LeaseOf {
  key: string;
  leaseId: string;
}

/** A survey decides before all members have answered. */
interface MembersSurvey extends Survey {
  /** Resolves with the answer of this member to the survey. Asks it again if it has failed, or lacked the lock. */
  viewAt(member: number, signal: AbortSignal): Promise<LockView | undefined>;
}

/** The stores of a quorum, and the ways to ask them. */
export interface QuorumMembers {
  quorum: Quorum;
  ask<T, R>(signal: AbortSignal, question: Question<T, R>): Promise<R>;
  /** Asks each store once it is done with the earlier requests of this lease. */
  askInTurn<T, R>(lease: LeaseOf, signal: AbortSignal, question: Question<T, R>): Promise<R>;
  /** A request of some other kind to one store, with the time limit of one. */
  limited<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T>;
  survey(key: string, signal: AbortSignal): Promise<MembersSurvey | 'absent'>;
  /**
   * Brings a store up to date that lacks the lock or the lease. Only for a holder that has a majority without this store:
   * any other holder that counted on this store has lost its majority by now.
   */
  rejoin(store: LockStore, lease: LeaseOf, leaseMs: number): Promise<void>;
  /** True if a rejoin for this lease has begun and not succeeded. */
  behind(store: LockStore, lease: LeaseOf): boolean;
}

export function quorumMembers(stores: readonly LockStore[], clock: Clock, memberMs: number): QuorumMembers {
  const quorum = quorumOf(stores.length);
  const inTurn = turns();
  const rejoining = new Map<LockStore, Set<string>>(stores.map((store) => [store, new Set()]));
  const named = ({ key, leaseId }: LeaseOf) => `${leaseId} ${key}`;

  const ask = <T, R>(signal: AbortSignal, question: Question<T, R>) =>
    poll(stores, clock, memberMs, signal, question);

  const limited = <T>(request: (signal: AbortSignal) => Promise<T>) => bounded(clock, memberMs, request);

  async function survey(key: string, signal: AbortSignal): Promise<MembersSurvey | 'absent'> {
    checkKey(key);
    const looks: Promise<LockView | undefined>[] = [];
    const found = await ask<MemberView, Survey | 'absent'>(signal, {
      async ask(store, each, member) {
        const look = store.look(key, each);
        looks[member] = look;
        return (await look) ?? 'absent';
      },
      decide: (ballot) => surveyed(ballot, quorum, clock.now()),
    });
    if (found === 'absent') return found;
    const viewAt: MembersSurvey['viewAt'] = async (member, each) =>
      (await looks[member]?.catch(() => undefined)) ?? stores[member]?.look(key, each);
    return { ...found, viewAt };
  }

  async function askInTurn<T, R>(lease: LeaseOf, signal: AbortSignal, question: Question<T, R>): Promise<R> {
    checkKey(lease.key);
    const turn = (member: number, task: () => Promise<void>) => inTurn(`${member} ${named(lease)}`, task);
    return ask(signal, { ...question, turn });
  }

  async function rejoin(
    store: LockStore,
    { key, leaseId }: LeaseOf,
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const acquire = () => store.acquire(key, leaseId, leaseMs, signal);
    let acquired = await acquire();
    if (acquired === 'absent') {
      await store.create(key, signal);
      acquired = await acquire();
    }
    if (acquired !== 'acquired') return;
    const [own, all] = await Promise.all([store.look(key, signal), survey(key, signal)]);
    if (own === undefined || all === 'absent') throw new Error('the lock has gone meanwhile');
    const { record } = all.view;
    if (record === undefined) return;
    if (!all.certain) throw new Error('the last record is not known');
    if (record.fence <= (own.record?.fence ?? -1)) return;
    const answer = await store.raise(key, leaseId, record, own.version, signal);
    if (answer !== 'raised') throw new Error('its record has changed meanwhile');
  }

  return {
    quorum,
    ask,
    survey,
    askInTurn,
    limited,
    async rejoin(store, lease, leaseMs) {
      const begun = rejoining.get(store);
      // Those of leases that are over.
      if (begun !== undefined && begun.size > mostRejoining) begun.clear();
      begun?.add(named(lease));
      await limited((signal) => rejoin(store, lease, leaseMs, signal));
      begun?.delete(named(lease));
    },
    behind: (store, lease) => rejoining.get(store)?.has(named(lease)) ?? false,
  };
}
