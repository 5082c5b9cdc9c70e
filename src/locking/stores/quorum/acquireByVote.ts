import type { Clock } from '../../../platform/clock.ts';
import { decideAcquire } from './quorumDecisions.ts';
import type { LeaseOf, QuorumMembers } from './quorumMembers.ts';

/** Candidates that split the vote give back what they got, pause for a random time, and ask again. */
const rounds = 5;
/** The longest pause after the first round, in milliseconds. It doubles with each round. */
const pauseMs = 10;

/**
 * Takes the lock on a majority of the stores, or gives back what it got.
 *
 * If several candidates ask at once, each may get some stores and none a majority. One that got none knows that others are
 * ahead, and leaves; the rest ask again, so that not everybody goes away with nothing.
 */
export async function acquireByVote(
  members: QuorumMembers,
  clock: Clock,
  lease: LeaseOf,
  leaseMs: number,
  signal: AbortSignal,
): Promise<'acquired' | 'held' | 'absent'> {
  for (let round = 1; ; round++) {
    const { outcome, votes } = await ask();
    if (outcome === 'acquired') return outcome;
    await giveBack();
    if (outcome === 'absent' || votes === 0 || round === rounds) return outcome;
    await clock.sleep(Math.random() * pauseMs * 2 ** (round - 1), signal);
  }

  async function ask() {
    let votes = 0;
    const outcome = await members.askInTurn(lease, signal, {
      async ask(store, each) {
        const answer = await store.acquire(lease.key, lease.leaseId, leaseMs, each);
        if (answer === 'acquired') votes++;
        return answer;
      },
      decide: (ballot) => decideAcquire(ballot, members.quorum),
      after: async (store, answer, decided) => {
        if (decided === 'acquired' && answer === 'absent') await members.rejoin(store, lease, leaseMs);
      },
    });
    return { outcome, votes };
  }

  /** Waits for a majority only: the others give it back in their turn, or with the end of the lease. */
  async function giveBack(): Promise<void> {
    await members
      .askInTurn(lease, signal, {
        ask: (store, each) => store.release(lease.key, lease.leaseId, each),
        decide: ({ answers }) => (answers.size >= members.quorum.majority ? 'done' : undefined),
      })
      .catch(() => {});
  }
}
