/**
 * `payonce/testing`: the contract suites, for a store of your own. They are tests of Vitest, which must be installed: call
 * one within a `describe`. `payonce/testing/memory` needs no test runner.
 */

export { documentStoreContract } from '../testing/documents/documentStoreContract.ts';
export type {
  Deviation,
  DocumentsSubject,
  Known,
  LostAnswer,
  OpenDocuments,
} from '../testing/documents/subject.ts';
export { lockStoreContract } from '../testing/locks/lockStoreContract.ts';
export type { ContractHolder, ContractSubject } from '../testing/locks/subject.ts';
export { outboxStoreContract } from '../testing/outbox/outboxStoreContract.ts';
export type { OpenOutbox, OutboxOf, OutboxSubject } from '../testing/outbox/world.ts';
