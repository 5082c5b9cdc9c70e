import { breakingContract } from './breakingContract.ts';
import { leaderContract } from './leaderContract.ts';
import { leaseContract } from './leaseContract.ts';
import { lossContract } from './lossContract.ts';
import { recordContract } from './recordContract.ts';
import { type ContractSubject, contractWorld } from './subject.ts';
import { timeContract } from './timeContract.ts';

/**
 * How a lock store behaves. Every store for leases must pass it: call it within a `describe` of Vitest. What the traits of
 * a store rule out is skipped by name.
 */
export function lockStoreContract(subject: ContractSubject): void {
  const world = contractWorld(subject);
  leaseContract(world);
  recordContract(world);
  breakingContract(world);
  lossContract(world);
  // These two wait most of their time. Next to each other they do so together.
  timeContract(world);
  const { another } = subject;
  if (another !== undefined) leaderContract({ ...subject, open: another });
}
