import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideAfterCheck, type ProviderView, weightiest } from '../../src/after/checkProvider.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');
const views: Record<ProviderView['kind'], ProviderView> = {
  found: { kind: 'found', paymentId: 'pi_1' },
  processing: { kind: 'processing', paymentId: 'pi_1', state: 'processing' },
  differs: { kind: 'differs', paymentId: 'pi_2', message: 'of another amount' },
  reversedInFull: { kind: 'reversedInFull', paymentId: 'pi_1' },
  nothing: { kind: 'nothing' },
  silent: { kind: 'silent', message: 'down' },
};
const someViews = fc.array(fc.constantFrom(...Object.values(views)), { minLength: 1 });

describe('decideAfterCheck', () => {
  test('no payment counts once the last call is over for certain', () => {
    const whenAsked = (askedAt: number) => decideAfterCheck(views.nothing, { askedAt, callsOverAt: now });
    expect(whenAsked(now - 1)).toEqual({ kind: 'wait', until: '2026-01-01T12:00:00.000Z' });
    expect(whenAsked(now)).toEqual({ kind: 'uncharged', check: 'the provider has no payment' });
    const never = decideAfterCheck(views.nothing, { askedAt: now, callsOverAt: undefined });
    expect(never.kind).toBe('uncharged');
  });

  test('what has gone back in full may be followed by another call all the same', () => {
    const whenAsked = (askedAt: number) =>
      decideAfterCheck(views.reversedInFull, { askedAt, callsOverAt: now });
    expect(whenAsked(now - 1).kind).toBe('wait');
    expect(whenAsked(now)).toEqual({
      kind: 'reversedInFull',
      paymentId: 'pi_1',
      check: 'payment pi_1 has gone back in full',
    });
  });

  test('a payment is recorded at any time', () => {
    for (const kind of ['found', 'processing'] as const) {
      const payment = views[kind];
      expect(decideAfterCheck(payment, { askedAt: now - 1, callsOverAt: now })).toEqual({
        kind: 'record',
        payment,
      });
    }
  });

  test('uncharged only if every answer says so, and none is missing', () => {
    fc.assert(
      fc.property(someViews, fc.integer({ min: -5, max: 5 }), (all, since) => {
        const after = decideAfterCheck(weightiest(all), { askedAt: now + since, callsOverAt: now });
        const kinds = new Set(all.map(({ kind }) => kind));
        expect(after.kind === 'uncharged').toBe(kinds.size === 1 && kinds.has('nothing') && since >= 0);
        if (after.kind === 'reversedInFull') {
          kinds.delete('nothing');
          expect([...kinds]).toEqual(['reversedInFull']);
        }
        if (kinds.has('found') || kinds.has('processing')) expect(after.kind).toBe('record');
      }),
    );
  });
});
