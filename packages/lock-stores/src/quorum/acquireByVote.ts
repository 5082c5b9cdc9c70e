import { randomUUID } from 'node:crypto';
import type { LockStore } from '@payonce/leases';
import type { Clock } from '@payonce/leases/clock';
import { decideAcquire } from './quorumDecisions.ts';
import type { LeaseOf, QuorumMembers } from './quorumMembers.ts';

/** Candidates that split the vote release what they got, pause for a random time, and ask again. */
const rounds = 5;
/** The longest pause after the first round, in milliseconds. It doubles with each round. */
const pauseMs = 10;

interface Round {
  outcome: 'acquired' | 'held' | 'absent';
  /** Stores that gave the lock to this candidate. */
  votes: LockStore[];
  /** Number of stores where another has the lock. */
  against: number;
  /** Stores that lack the lock. */
  forgetful: LockStore[];
}

/**
 * Takes the lock on a majority of the stores, or releases what it got.
 *
 * If several candidates ask at once, each may get some stores and none a majority. One that got none knows that others are
 * ahead, and leaves; the rest ask again, so that not everybody goes away with nothing.
 */
export async function acquireByVote(
  members: QuorumMembers,
  { clock, random }: { clock: Clock; random: () => number },
  lease: LeaseOf,
  leaseMs: number,
  signal: AbortSignal,
): Promise<'acquired' | 'held' | 'absent'> {
  const { key, leaseId } = lease;
  /** Releases on their way, by store. One that arrives late would undo what a later round acquires there. */
  const releasing = new Map<number, number>();
  const count = (member: number, more: number) => {
    releasing.set(member, (releasing.get(member) ?? 0) + more);
  };

  for (let round = 1; ; round++) {
    const { outcome, votes, against, forgetful } = await ask();
    if (outcome === 'acquired') return outcome;
    if (round === rounds && votes.length > 0 && against === 0 && !(await readmit(votes, forgetful)))
      return outcome;
    await giveBack();
    if (outcome === 'absent' || votes.length === 0 || round === rounds) return outcome;
    await clock.sleep(random() * pauseMs * 2 ** (round - 1), signal);
  }

  async function ask(): Promise<Round> {
    const answered: Omit<Round, 'outcome'> = { votes: [], against: 0, forgetful: [] };
    const outcome = await members.askInTurn(lease, signal, {
      async ask(store, each, member) {
        if ((releasing.get(member) ?? 0) > 0) throw new Error('a release is still in flight');
        const answer = await store.acquire(key, leaseId, leaseMs, each);
        if (answer === 'acquired') answered.votes.push(store);
        else if (answer === 'held') answered.against++;
        else answered.forgetful.push(store);
        return answer;
      },
      decide: (ballot) => decideAcquire(ballot, members.quorum),
      after: async (store, answer, decided) => {
        if (decided === 'acquired' && answer === 'absent') await members.rejoin(store, lease, leaseMs);
      },
    });
    return { ...answered, outcome };
  }

  /**
   * Gives a vote again to stores that have forgotten the lock. A holder whose majority included one of them trusts its lease
   * for at most one lease length from now, so nobody gets their votes until then. One at a time: for a moment the lock is
   * free there, and what this candidate holds elsewhere, renewed for as long, keeps others from a majority.
   *
   * Returns false if one may still be free: the votes of this candidate must then end with their leases.
   */
  async function readmit(votes: readonly LockStore[], forgetful: readonly LockStore[]): Promise<boolean> {
    try {
      for (const vote of votes) {
        const answer = await members.limited((each) => vote.renew(key, leaseId, leaseMs, each));
        if (answer !== 'renewed') return true;
      }
      for (const store of forgetful) {
        await members.limited(async (each) => {
          await store.create(key, each);
          await store.acquire(key, randomUUID(), leaseMs, each);
        });
      }
      return true;
    } catch {
      // Another candidate, or the next attempt, goes on.
      return false;
    }
  }

  /** Waits for a majority only: the others give it back in their turn, or with the end of the lease. */
  async function giveBack(): Promise<void> {
    await members
      .askInTurn(lease, signal, {
        async ask(store, each, member) {
          count(member, 1);
          await store.release(key, leaseId, each);
          count(member, -1);
          return 'released';
        },
        decide: ({ answers }) => (answers.size >= members.quorum.majority ? 'done' : undefined),
      })
      .catch(() => {});
  }
}
