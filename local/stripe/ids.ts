import { randomUUID } from 'node:crypto';

/**
 * First letters of an id, by its kind. At Stripe `py` and `pyr` stand for charges and refunds that use no
 * card.
 */
export type IdPrefix = 'acct' | 'ch' | 'cus' | 'du' | 'evt' | 'pi' | 'py' | 'pyr' | 're' | 'req';

export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
