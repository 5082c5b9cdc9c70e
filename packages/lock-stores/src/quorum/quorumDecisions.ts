import type { LockStore, Refusal } from '@payonce/leases';
import { type Ballot, count, type Quorum } from './quorumViews.ts';

/**
 * Decides the answer of a quorum as soon as its members have said enough; undefined until then. Where it stays undefined after
 * all have answered or failed, too few were in reach.
 */
export type Decision<T, R> = (ballot: Ballot<T>, quorum: Quorum) => R | undefined;

type Answer<M extends 'acquire' | 'raise' | 'renew' | 'release'> = Awaited<ReturnType<LockStore[M]>>;
export type Broken = 'broken' | 'notHeld' | 'changed';

const is =
  <T>(wanted: T) =>
  (answer: unknown) =>
    answer === wanted;
const isRefusal = (answer: unknown): answer is Refusal => typeof answer === 'object';

/** A member that lacks the lock has forgotten it, and has no vote. If all that answer lack it, nobody has it. */
export const decideAcquire: Decision<Answer<'acquire'>, Answer<'acquire'>> = (ballot, { majority }) => {
  const acquired = count(ballot, is('acquired'));
  if (acquired >= majority) return 'acquired';
  if (acquired + ballot.pending >= majority || ballot.answers.size < majority) return undefined;
  return count(ballot, is('absent')) === ballot.answers.size ? 'absent' : 'held';
};

/** `changed` also if some lost the lease and some have another record: to look again finds out. */
export const decideRaise: Decision<Answer<'raise'>, Answer<'raise'>> = (ballot, { majority, blocking }) => {
  if (count(ballot, is('raised')) >= majority) return 'raised';
  if (count(ballot, isRefusal) >= blocking) return mostCommon([...ballot.answers.values()].filter(isRefusal));
  return count(ballot, (answer) => answer !== 'raised') >= blocking ? 'changed' : undefined;
};

export const decideRenew: Decision<Answer<'renew'>, Answer<'renew'>> = (ballot, { majority, blocking }) => {
  if (count(ballot, is('renewed')) >= majority) return 'renewed';
  if (count(ballot, isRefusal) < blocking) return undefined;
  return mostCommon([...ballot.answers.values()].filter(isRefusal));
};

export const decideRelease: Decision<Answer<'release'>, Answer<'release'>> = (
  ballot,
  { majority, blocking },
) => {
  if (count(ballot, is('released')) >= majority) return 'released';
  return count(ballot, is('gone')) >= blocking ? 'gone' : undefined;
};

/** Broken is a lease once a majority is free. */
export const decideBreak: Decision<Broken, Broken> = (ballot, { majority, blocking }) => {
  if (count(ballot, is('changed')) >= blocking) return 'changed';
  if (count(ballot, (answer) => answer !== 'changed') < majority) return undefined;
  return count(ballot, is('broken')) > 0 ? 'broken' : 'notHeld';
};

/** Where two are as common, `taken`: the other members have not heard of the next holder yet. */
function mostCommon(refusals: readonly Refusal[]): Refusal {
  const [first] = refusals.toSorted((a, b) => times(b) - times(a) || isTaken(b) - isTaken(a));
  if (first === undefined) throw new RangeError('no refusal');
  return first;

  function times({ reason }: Refusal): number {
    return refusals.filter((refusal) => refusal.reason === reason).length;
  }
}

const isTaken = ({ reason }: Refusal) => Number(reason === 'taken');
