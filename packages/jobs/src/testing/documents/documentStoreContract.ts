import { conditionsContract } from './conditionsContract.ts';
import { readAndPatchContract } from './readAndPatchContract.ts';
import type { DocumentsSubject } from './subject.ts';
import { transactionsContract } from './transactionsContract.ts';

/** Declares the tests that each store of documents must pass. Call it within a `describe` of Vitest. */
export function documentStoreContract(subject: DocumentsSubject): void {
  readAndPatchContract(subject);
  conditionsContract(subject);
  transactionsContract(subject);
}
