import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Refund, type Reversals, refundStatuses, reversalsOf } from '../../src/invoice/reversals.ts';
import { withProviderReversals } from '../../src/paying/mergeReversals.ts';
import type { ProviderReversals } from '../../src/paying/paymentProvider.ts';

type ProviderRefund = ProviderReversals['refunds'][number];
type ProviderDispute = ProviderReversals['disputes'][number];

const paidMinor = 1_000;
const at = (n: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
const ourId = (n: number) => `rf_${String(n).padStart(43, 'x')}`;

/** The states that a provider's refund or dispute passes, one after the other. */
const refundPaths = [
  ['pending'],
  ['succeeded'],
  ['pending', 'succeeded'],
  ['pending', 'failed'],
  ['pending', 'canceled'],
  ['succeeded', 'failed'],
  ['pending', 'succeeded', 'failed'],
] as const;
const disputePaths = [['open'], ['open', 'won'], ['open', 'lost'], ['lost']] as const;

/** Histories of one payment at its provider; amounts repeat, and ours are among those of others. */
const histories = fc.record({
  refunds: fc.array(
    fc.record({
      ours: fc.boolean(),
      amountMinor: fc.constantFrom(100, 100, 250),
      path: fc.constantFrom(...refundPaths),
      at: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 4 },
  ),
  disputes: fc.array(fc.constantFrom(...disputePaths), { maxLength: 2 }),
});
type History = typeof histories extends fc.Arbitrary<infer T> ? T : never;

/** The provider's view when its refunds and disputes have come this far; below 0: they are not there yet. */
function viewOf({ refunds, disputes }: History, progress: readonly number[]): ProviderReversals {
  const stateAt = <State>(path: readonly State[], n: number): State | undefined =>
    path[Math.min(progress[n] ?? path.length, path.length - 1)];
  return {
    refunds: refunds.flatMap(({ ours, amountMinor, path, at: when }, n): ProviderRefund[] => {
      const status = stateAt(path, n);
      if (status === undefined) return [];
      const refund = { providerId: `re_${n}`, amountMinor, status, at: at(when) };
      return [ours ? { ...refund, refundId: ourId(n) } : refund];
    }),
    disputes: disputes.flatMap((path, n): ProviderDispute[] => {
      const status = stateAt(path, refunds.length + n);
      return status === undefined
        ? []
        : [{ id: `dp_${n}`, amountMinor: 400, status, at: at(n), reason: 'fraudulent' }];
    }),
  };
}

/** The refunds of ours as they are recorded before the provider has taken them. */
function requestedOf({ refunds }: History): Reversals | undefined {
  const requested = refunds.flatMap(({ ours, amountMinor }, n): Refund[] =>
    ours ? [{ id: ourId(n), amountMinor, status: 'requested', at: at(0), by: 'ada', reason: `no ${n}` }] : [],
  );
  return requested.length === 0 ? undefined : reversalsOf(requested, []);
}

const progresses = fc.array(fc.array(fc.integer({ min: -1, max: 2 }), { minLength: 6, maxLength: 6 }), {
  maxLength: 5,
});
const complete = [9, 9, 9, 9, 9, 9];

const merged = (views: readonly ProviderReversals[], recorded: Reversals | undefined) =>
  views.reduce<Reversals | undefined>((before, view) => withProviderReversals(before, view), recorded);

test('whatever views were seen before, late or in whatever order, the last one makes the same record', () => {
  fc.assert(
    fc.property(histories, progresses, (history, seen) => {
      const last = viewOf(history, complete);
      const views = seen.map((progress) => viewOf(history, progress));
      const straight = merged([last], requestedOf(history));
      expect(merged([...views, last], requestedOf(history))).toEqual(straight);
      // A view that was read before the last one and is written after it takes nothing back.
      expect(merged([...views, last, ...views], requestedOf(history))).toEqual(straight);
      expect(merged([...views, last, ...views.toReversed(), last], requestedOf(history))).toEqual(straight);
    }),
  );
});

test('the record of views does not depend on the order of what they list', () => {
  fc.assert(
    fc.property(histories, progresses, (history, seen) => {
      const views = seen.map((progress) => viewOf(history, progress));
      const turned = views.map(({ refunds, disputes }) => ({
        refunds: refunds.toReversed(),
        disputes: disputes.toReversed(),
      }));
      expect(merged(turned, requestedOf(history))).toEqual(merged(views, requestedOf(history)));
    }),
  );
});

test('every refund of the provider is recorded once, with its own amount, and the sums are theirs', () => {
  fc.assert(
    fc.property(histories, progresses, (history, seen) => {
      const last = viewOf(history, complete);
      const after = merged(
        [...seen.map((progress) => viewOf(history, progress)), last],
        requestedOf(history),
      );
      const refunds = after?.refunds ?? [];
      const recorded = refunds.map(({ providerId, amountMinor, status }) => ({
        providerId,
        amountMinor,
        status,
      }));
      const byId = (a: { providerId: string | undefined }, b: { providerId: string | undefined }) =>
        String(a.providerId).localeCompare(String(b.providerId));
      expect(recorded.toSorted(byId)).toEqual(
        last.refunds
          .map(({ providerId, amountMinor, status }) => ({ providerId, amountMinor, status }))
          .toSorted(byId),
      );
      expect(new Set(refunds.map(({ id }) => id)).size).toBe(refunds.length);
      const gone = last.refunds.filter(({ status }) => status === 'pending' || status === 'succeeded');
      expect(after?.refundedMinor ?? 0).toBe(gone.reduce((sum, { amountMinor }) => sum + amountMinor, 0));
      const disputed = last.disputes.filter(({ status }) => status !== 'won');
      expect(after?.disputedMinor ?? 0).toBe(disputed.length * 400);
      // Fields that only the request knows stay.
      for (const { id, by, reason } of requestedOf(history)?.refunds ?? []) {
        expect(refunds.find((one) => one.id === id)).toMatchObject({ by, reason });
      }
    }),
  );
});

test('a provider that never refunds more than was paid makes no sum above it', () => {
  const moves = fc.array(
    fc.record({ amountMinor: fc.integer({ min: 1, max: paidMinor }), fails: fc.boolean() }),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(moves, (asked) => {
      const refunds: ProviderRefund[] = [];
      let recorded: Reversals | undefined;
      for (const [n, { amountMinor, fails }] of asked.entries()) {
        const gone = refunds.reduce((sum, one) => (one.status === 'failed' ? sum : sum + one.amountMinor), 0);
        if (amountMinor > paidMinor - gone) continue;
        refunds.push({ providerId: `re_${n}`, amountMinor, status: 'pending', at: at(n) });
        recorded = withProviderReversals(recorded, { refunds: [...refunds], disputes: [] });
        expect(recorded?.refundedMinor).toBeLessThanOrEqual(paidMinor);
        const status = fails ? ('failed' as const) : ('succeeded' as const);
        refunds[refunds.length - 1] = { providerId: `re_${n}`, amountMinor, status, at: at(n) };
        recorded = withProviderReversals(recorded, { refunds: [...refunds], disputes: [] });
        expect(recorded?.refundedMinor).toBeLessThanOrEqual(paidMinor);
      }
    }),
  );
});

test('two refunds of the same amount stay two, and ours is the one that carries its id', () => {
  const recorded = reversalsOf([{ id: ourId(1), amountMinor: 100, status: 'requested', at: at(0) }], []);
  const other = { providerId: 're_other', amountMinor: 100, status: 'succeeded' as const, at: at(1) };
  const withOther = withProviderReversals(recorded, { refunds: [other], disputes: [] });
  expect(withOther?.refunds).toMatchObject([{ id: ourId(1), status: 'requested' }, { id: 're_other' }]);
  expect(withOther?.refundedMinor).toBe(200);
  const ours = { ...other, providerId: 're_ours', refundId: ourId(1) };
  const both = withProviderReversals(withOther, { refunds: [ours, other], disputes: [] });
  expect(both?.refunds).toMatchObject([
    { id: ourId(1), providerId: 're_ours', status: 'succeeded' },
    { id: 're_other', providerId: 're_other' },
  ]);
  expect(both?.refundedMinor).toBe(200);
});

test('a second refund at the provider under the id of ours is a refund of its own', () => {
  const twice = ['re_a', 're_b'].map((providerId, n) => ({
    providerId,
    refundId: ourId(1),
    amountMinor: 100,
    status: 'succeeded' as const,
    at: at(n),
  }));
  const recorded = reversalsOf([{ id: ourId(1), amountMinor: 100, status: 'requested', at: at(0) }], []);
  const after = withProviderReversals(recorded, { refunds: twice.toReversed(), disputes: [] });
  expect(after?.refunds.map(({ id, providerId }) => [id, providerId])).toEqual([
    [ourId(1), 're_a'],
    ['re_b', 're_b'],
  ]);
  expect(after?.refundedMinor).toBe(200);
  expect(withProviderReversals(after, { refunds: twice, disputes: [] })).toEqual(after);
});

test('a refund that was refused here counts all the same if the provider shows it', () => {
  const refused: Refund = { id: ourId(1), amountMinor: 100, status: 'failed', at: at(0), failure: 'no' };
  const shown = { providerId: 're_1', refundId: ourId(1), amountMinor: 100, at: at(1) };
  for (const status of refundStatuses.filter((one) => one !== 'requested')) {
    const view = { refunds: [{ ...shown, status }], disputes: [] };
    expect(withProviderReversals(reversalsOf([refused], []), view)?.refunds).toMatchObject([{ status }]);
  }
});
