import type { DocumentStore } from '../../documents/documentStore.ts';

/** Guarantees whose tests a subject may mark as broken by the server it runs on. */
export type Deviation = 'conditions' | 'staleVersions' | 'races' | 'halfBatches';

/** The context of Vitest, by which a test says that it is skipped. */
export interface Skippable {
  skip(note?: string): void;
}

/** A test of one guarantee. */
export type Known = (
  deviation: Deviation,
  body: () => Promise<void>,
) => (context: Skippable) => Promise<void>;

/**
 * Moment at which the answer to a write is lost: before it was applied; after it; or after it, and the client sends it again
 * and gets the answer to that.
 */
export type LostAnswer = 'before' | 'after' | 'echo';

/** A store that was opened for one test, and what the tests do to it. */
export interface OpenDocuments {
  readonly documents: DocumentStore;
  /** Loses the answers to the next `count` writes. */
  lose: (answer: LostAnswer, count?: number) => Promise<void>;
  /** Lets the next `count` reads and queries go unanswered. */
  failReads: (count?: number) => Promise<void>;
  /** The same store for an app that may not use it. */
  readonly denied: { readonly documents: DocumentStore };
}

/** A store of documents, as its contract needs it. The partition key of its documents is `shard`. */
export interface DocumentsSubject<Open extends OpenDocuments = OpenDocuments> {
  /** Opens a new, empty store. Called within a test. */
  open: () => Promise<Open>;
  /** True if `lose`, `failReads` and `denied` work; the tests that need them are skipped otherwise. */
  readonly canFail: boolean;
  /** Wraps the test of a guarantee, so that it can skip what the server is known to get wrong. Default: nothing is. */
  readonly known?: Known;
}

/** A server that gets nothing wrong. */
export const nothingKnown: Known = (_, body) => body;
