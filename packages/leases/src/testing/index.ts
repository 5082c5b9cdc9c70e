/**
 * The contract suite, for a store of your own. It is a suite of Vitest, which must be installed: call it within a `describe`.
 * `@payonce/leases/memory` needs no test runner.
 */
export { type LeapingClock, leapingClock } from './leapingClock.ts';
export { lockStoreContract } from './lockStoreContract.ts';
export type { ContractHolder, ContractSubject } from './subject.ts';
