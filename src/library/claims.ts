/**
 * `payonce/claims`: documents that one process claims for itself, many in one transaction, which refuses a holder whose
 * lease has passed to another. `payonce/claims/cosmos` keeps the documents in a container of yours.
 */
export {
  type Condition,
  type Create,
  type DocumentStore,
  maxOperations,
  type Operation,
  type Patch,
  type Replace,
  refusedBecause,
  type Transacted,
} from '../documents/documentStore.ts';
export { NoClearAnswer, StoreAway } from '../documents/storeAway.ts';
export {
  type ConditionalWrite,
  type Patience,
  patience,
  type Written,
  writeUntilClear,
} from '../documents/writeUntilClear.ts';
export {
  type ClaimedDocuments,
  type ClaimWrite,
  claimDocuments,
  type Fence,
  FencedOut,
  fenceCheck,
  newFence,
  type ReadDocument,
} from '../locking/fence.ts';
