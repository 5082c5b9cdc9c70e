import { errorText } from '../platform/errorText.ts';

/**
 * The store is of no use at the moment, through no fault of the request; the same request may work later. `noAnswer`: it
 * is busy, unreachable or timed out, and the request may even have been applied. `accessDenied`: a role, key or network
 * rule is wrong, and nothing was applied. The SDK's error is the `cause`.
 */
export class StoreAway extends Error {
  override readonly name: string = 'StoreAway';
  readonly reason: 'noAnswer' | 'accessDenied';

  constructor(reason: StoreAway['reason'], cause: unknown, message = errorText(cause)) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The store gave no clear answer to a write in all its tries (see `patience`). */
export class NoClearAnswer extends StoreAway {
  override readonly name = 'NoClearAnswer';

  constructor(what: string, tries: number, cause: unknown) {
    super('noAnswer', cause, `${what}: the store gave no clear answer in ${tries} tries`);
  }
}
