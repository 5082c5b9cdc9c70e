import { errorText } from '@payonce/leases/error-text';

/**
 * A store of JSON documents in partitions, with transactions over one partition: as much of Cosmos DB as the app writes
 * through, in terms that an in-memory store can implement too. Queries are each store's own.
 */

/** Condition on a document when a patch is applied. Paths use dots: `claim.batchId`. */
export interface Condition {
  readonly path: string;
  readonly is: '=' | '<=';
  readonly value: string | number;
}

/** Creates a document; refused if its id is taken in this partition. */
export interface Create {
  readonly kind: 'create';
  readonly document: { readonly id: string };
}

/** Changes part of a document. Refused if the version or a condition does not hold, or if there is no such document. */
export interface Patch {
  readonly kind: 'patch';
  readonly id: string;
  /** The ETag that the document must still have. */
  readonly version?: string;
  readonly where?: readonly Condition[];
  readonly set?: Readonly<Record<string, unknown>>;
  /** Each must be there: Cosmos refuses to remove what is not. */
  readonly remove?: readonly string[];
  /** Adds to numbers. One that is not there begins at 0; the object that holds it must be there. */
  readonly increment?: Readonly<Record<string, number>>;
  /** Adds one element to the end of an array. */
  readonly append?: { readonly path: string; readonly value: unknown };
}

/** Puts a document in the place of another with the same id; refused if the version does not hold, or there is none. */
export interface Replace {
  readonly kind: 'replace';
  readonly document: { readonly id: string };
  /** The ETag that the document must still have. */
  readonly version: string;
}

export type Operation = Create | Patch | Replace;

/** Outcome of a transaction. */
export type Transacted =
  | { kind: 'committed' }
  /** Nothing was written. One status code per operation: the one at fault has its own, the others 424. */
  | { kind: 'refused'; codes: readonly number[] }
  /** No answer, or the service was busy: it may have been written. Only rereading tells. */
  | { kind: 'uncertain'; cause: unknown };

/** Status codes of an operation that was refused, as Cosmos has them. */
export const refusedBecause = {
  /** There is no such document. */
  missing: 404,
  /** There is a document with this id already. */
  taken: 409,
  /** The version or a condition does not hold. */
  changed: 412,
} as const;

/** Operations in one transaction (https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch). */
export const maxOperations = 100;

export interface DocumentStore {
  /**
   * Runs one transaction. A refusal may be the echo of our own first try, whose connection broke: reread first, as
   * `writeUntilClear` does. @throws {StoreAway} the store refuses the app as such
   */
  transact(partition: string, operations: readonly Operation[]): Promise<Transacted>;
  /** The documents with these ids, in no particular order; missing ones are left out. @throws {StoreAway} */
  read(partition: string, ids: readonly string[]): Promise<unknown[]>;
}

/**
 * The store is of no use at the moment, through no fault of the request; the same request may work later. `noAnswer`: it
 * is busy, unreachable or timed out, and the request may even have been applied. `accessDenied`: a role, key or network
 * rule is wrong, and nothing was applied. `full`: the partition has no room, and nothing was applied; other partitions may
 * have. The SDK's error is the `cause`.
 */
export class StoreAway extends Error {
  override readonly name: string = 'StoreAway';
  readonly reason: 'noAnswer' | 'accessDenied' | 'full';

  constructor(reason: StoreAway['reason'], cause: unknown, message = errorText(cause)) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** A logical partition holds 20 GB (https://learn.microsoft.com/azure/cosmos-db/concepts-limits). */
export class PartitionFull extends StoreAway {
  override readonly name = 'PartitionFull';

  constructor(partition: string, cause: unknown) {
    super('full', cause, `partition ${partition} is full: Cosmos DB keeps at most 20 GB in one`);
  }
}

/** The store gave no clear answer to a write in all its tries (see `patience`). */
export class NoClearAnswer extends StoreAway {
  override readonly name = 'NoClearAnswer';

  constructor(what: string, tries: number, cause: unknown) {
    super('noAnswer', cause, `${what}: the store gave no clear answer in ${tries} tries`);
  }
}
