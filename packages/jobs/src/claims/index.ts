/** Documents that a process claims for itself in one transaction, which refuses a holder whose lease has passed to another. */
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
