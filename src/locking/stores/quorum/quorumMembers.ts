import type { Clock } from '../../../platform/clock.ts';
import { bounded } from '../../bounded.ts';
import { checkKey } from '../../lockRecord.ts';
import type { LockStore } from '../../lockStore.ts';
import { poll, type Question } from './poll.ts';
import { type MemberView, type Quorum, quorumOf, type Survey, surveyed } from './quorumViews.ts';
import { turns } from './turns.ts';

/** The lease that a request is about. */
export interface LeaseOf {
  key: string;
  leaseId: string;
}

/** The stores of a quorum, and the ways to ask them. */
export interface QuorumMembers {
  quorum: Quorum;
  ask<T, R>(signal: AbortSignal, question: Question<T, R>): Promise<R>;
  /** Asks each store once it is done with the earlier requests of this lease. */
  askInTurn<T, R>(lease: LeaseOf, signal: AbortSignal, question: Question<T, R>): Promise<R>;
  survey(key: string, signal: AbortSignal): Promise<Survey | 'absent'>;
  /**
   * Brings a store up to date that lacks the lock or the lease. Only for a holder that has a majority without this store:
   * whoever else had one with it has lost that by now.
   */
  rejoin(store: LockStore, lease: LeaseOf, leaseMs: number): Promise<void>;
}

export function quorumMembers(stores: readonly LockStore[], clock: Clock, memberMs: number): QuorumMembers {
  const quorum = quorumOf(stores.length);
  const inTurn = turns();

  const ask = <T, R>(signal: AbortSignal, question: Question<T, R>) =>
    poll(stores, clock, memberMs, signal, question);

  async function survey(key: string, signal: AbortSignal): Promise<Survey | 'absent'> {
    checkKey(key);
    return ask<MemberView, Survey | 'absent'>(signal, {
      ask: async (store, each) => (await store.look(key, each)) ?? 'absent',
      decide: (ballot) => surveyed(ballot, quorum),
    });
  }

  async function askInTurn<T, R>(
    { key, leaseId }: LeaseOf,
    signal: AbortSignal,
    question: Question<T, R>,
  ): Promise<R> {
    checkKey(key);
    const turn = (member: number, task: () => Promise<void>) => inTurn(`${member} ${leaseId} ${key}`, task);
    return ask(signal, { ...question, turn });
  }

  async function rejoin(
    store: LockStore,
    { key, leaseId }: LeaseOf,
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const acquire = () => store.acquire(key, leaseId, leaseMs, signal);
    let answer = await acquire();
    if (answer === 'absent') {
      await store.create(key, signal);
      answer = await acquire();
    }
    if (answer !== 'acquired') return;
    const [own, all] = await Promise.all([store.look(key, signal), survey(key, signal)]);
    if (own === undefined || all === 'absent' || all.view.record === undefined) return;
    if (all.view.record.fence <= (own.record?.fence ?? -1)) return;
    await store.raise(key, leaseId, all.view.record, own.version, signal);
  }

  return {
    quorum,
    ask,
    survey,
    askInTurn,
    rejoin: (store, lease, leaseMs) =>
      bounded(clock, memberMs, (signal) => rejoin(store, lease, leaseMs, signal)),
  };
}
