import { errorText } from '../platform/errorText.ts';

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
