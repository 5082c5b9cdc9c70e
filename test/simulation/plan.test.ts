import { expect, test } from 'vitest';
import type { Fault } from './plan/faults.ts';
import { planOf } from './plan/planOf.ts';

/** Actions of people and outcomes of payments: they may come days after all else. */
const mayComeLater: ReadonlySet<Fault['kind']> = new Set([
  'operator',
  'caller',
  'reversal',
  'payment',
  'refundByHand',
]);

test('nothing goes wrong after the end of faults', () => {
  const late = Array.from({ length: 5_000 }, (_, seed) => planOf(seed)).flatMap(
    ({ seed, horizonMs, faults }) =>
      faults
        .filter(({ kind, at }) => at > horizonMs && !mayComeLater.has(kind))
        .map(({ kind, at }) => ({ seed, kind, at, horizonMs })),
  );
  expect(late).toEqual([]);
});
