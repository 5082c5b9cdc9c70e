import type { LockStore, StoreTraits } from '@payonce/leases';

/**
 * Combines the traits of the members into those that all of them meet. No lease is shorter than `shortestMs`.
 *
 * @throws RangeError if there is no length of a lease that all of them grant.
 */
export function quorumTraits(members: readonly LockStore[], shortestMs: number): StoreTraits {
  const traits = members.map((member) => member.traits);
  const stepMs = traits.reduce((step, { lease }) => leastCommonMultiple(step, lease.stepMs), 1);
  const longest = Math.min(...traits.map(({ lease }) => lease.maxMs));
  const shortest = Math.max(shortestMs, ...traits.map(({ lease }) => lease.minMs));
  const lease = {
    minMs: Math.ceil(shortest / stepMs) * stepMs,
    maxMs: Math.floor(longest / stepMs) * stepMs,
    stepMs,
  };
  if (!(lease.minMs <= lease.maxMs)) throw new RangeError('There is no lease that all stores grant');
  return {
    lease,
    expiryLagMs: Math.max(...traits.map(({ expiryLagMs }) => expiryLagMs)),
    keptBy: traits.every(({ keptBy }) => keptBy === 'id') ? 'id' : 'connection',
    looks: traits.every(({ looks }) => looks === 'anyone') ? 'anyone' : 'holder',
  };
}

function leastCommonMultiple(a: number, b: number): number {
  return (a / greatestCommonDivisor(a, b)) * b;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
