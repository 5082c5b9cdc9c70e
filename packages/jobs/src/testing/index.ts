/**
 * The contract suites of documents and outbox, for a store of your own. They are suites of Vitest, which must be installed: call
 * one within a `describe`.
 */
export { documentStoreContract } from './documents/documentStoreContract.ts';
export type { Deviation, DocumentsSubject, Known, LostAnswer, OpenDocuments } from './documents/subject.ts';
export { outboxStoreContract } from './outbox/outboxStoreContract.ts';
export type { OpenOutbox, OutboxOf, OutboxSubject } from './outbox/world.ts';
