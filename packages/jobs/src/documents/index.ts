/**
 * Documents that are changed on conditions, several of a partition in one transaction. `@payonce/jobs/documents/cosmos` keeps
 * them in a container of yours.
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
} from './documentStore.ts';
export { allPages, BadContinuation, continuationAt, type Page, placeOf } from './pages.ts';
export {
  formatVersion,
  isNewer,
  isSystemId,
  NewerVersion,
  newWriteId,
  resendAfterMs,
  readableDocument,
  readableDocuments,
  systemId,
  tolerantObject,
} from './storedDocuments.ts';
export { type OnUnreadable, type Unreadable, unreadableReport } from './unreadable.ts';
export {
  type ConditionalWrite,
  keepFirst,
  type Patience,
  patience,
  type Written,
  writeUntilClear,
} from './writeUntilClear.ts';
