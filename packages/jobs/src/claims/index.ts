/**
 * Documents that one process claims for itself, many in one transaction, which refuses a holder whose lease has passed to
 * another.
 */
export {
  type ClaimedDocuments,
  type ClaimWrite,
  claimDocuments,
  type Fence,
  FencedOut,
  fenceCheck,
  newFence,
  type ReadDocument,
} from './fence.ts';
