import { randomUUID } from 'node:crypto';

/**
 * First letters of an id, by its kind. At Stripe `py` and `pyr` stand for charges and refunds that use no
 * card.
 */
export type IdPrefix = 'acct' | 'ch' | 'cus' | 'du' | 'evt' | 'pi' | 'py' | 'pyr' | 're' | 'req';

/** Digits that tell the ids of this process from those of another. */
const ofProcess = randomUUID().slice(0, 8);
let made = 0;

/** As at Stripe, ids begin with their time: an index of them grows at its end. */
export function newId(prefix: IdPrefix): string {
  const number = (made++ % 0x100000).toString(16).padStart(5, '0');
  return `${prefix}_${Date.now().toString(16)}${number}${ofProcess}`;
}
