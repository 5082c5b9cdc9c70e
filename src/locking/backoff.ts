import { between } from './timing.ts';

/** Milliseconds. */
export interface Backoff {
  firstMs: number;
  mostMs: number;
}

/**
 * How long a waiter waits before its next look, `tries` looks having failed: doubling up to a ceiling, each drawn from the
 * upper half of its span. The ceiling is low on purpose: who waits long looks nearly as often as who has just come, and
 * nobody starves.
 */
export function waitBefore(tries: number, { firstMs, mostMs }: Backoff, random: () => number): number {
  const span = Math.min(mostMs, firstMs * 2 ** Math.min(tries, 30));
  return between(span / 2, span, random);
}
