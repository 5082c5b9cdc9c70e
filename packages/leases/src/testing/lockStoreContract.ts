import { breakingContract } from './breakingContract.ts';
import { leaderContract } from './leaderContract.ts';
import { leaseContract } from './leaseContract.ts';
import { lossContract } from './lossContract.ts';
import { recordContract } from './recordContract.ts';
import { sharedLockContract } from './sharedLockContract.ts';
import { type ContractSubject, contractWorld } from './subject.ts';
import { takeContract } from './takeContract.ts';
import { timeContract } from './timeContract.ts';

/**
 * Declares the tests that every lock store for leases must pass. Call it within a `describe` of Vitest. Tests of what the
 * traits of a store rule out are skipped by name.
 */
export function lockStoreContract(subject: ContractSubject): void {
  const world = contractWorld(subject);
  leaseContract(world);
  recordContract(world);
  takeContract(world);
  sharedLockContract(world);
  breakingContract(world);
  lossContract(world);
  // These two wait most of their time. Next to each other they do so together.
  timeContract(world);
  const { another } = subject;
  if (another !== undefined) leaderContract({ ...subject, open: another });
}
