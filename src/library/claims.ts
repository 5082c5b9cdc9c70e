/**
 * `payonce/claims`: documents that one process claims for itself, many in one transaction, which refuses a holder whose
 * lease has passed to another. `payonce/claims/cosmos` keeps the documents in a container of yours.
 */
export {
  type Condition,
  type Create,
  type DocumentStore,
  maxOperations,
  NoClearAnswer,
  type Operation,
  type Patch,
  type Replace,
  refusedBecause,
  StoreAway,
  type Transacted,
} from '../documents/documentStore.ts';
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
