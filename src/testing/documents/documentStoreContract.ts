import { conditionsContract } from './conditionsContract.ts';
import { readAndPatchContract } from './readAndPatchContract.ts';
import type { DocumentsSubject } from './subject.ts';
import { transactionsContract } from './transactionsContract.ts';

/** How a store of documents behaves. Each store must pass it: call it within a `describe` of Vitest. */
export function documentStoreContract(subject: DocumentsSubject): void {
  readAndPatchContract(subject);
  conditionsContract(subject);
  transactionsContract(subject);
}
