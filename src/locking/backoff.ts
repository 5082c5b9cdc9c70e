import { exponentialBackoff } from '../platform/backoff.ts';
import { between } from './timing.ts';

/** The pauses between two looks of a waiter, in milliseconds. */
export interface Backoff {
  /** Upper bound of the first pause. Doubles with each further one. */
  firstMs: number;
  /** Upper bound of every pause. */
  mostMs: number;
}

/**
 * Milliseconds to pause before the next look, after `tries` earlier pauses. The span doubles up to a ceiling,
 * and each pause is drawn from its upper half. The ceiling is low on purpose: an old waiter looks nearly as
 * often as a new one, so nobody starves. `random` returns values in [0, 1).
 */
export function waitBefore(tries: number, { firstMs, mostMs }: Backoff, random: () => number): number {
  const span = exponentialBackoff(tries + 1, { base: firstMs, cap: mostMs });
  return between(span / 2, span, random);
}
