import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkNote, onceCallsAreOver, type ProviderView, weightiest } from '../../src/after/checkProvider.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');
const views: Record<ProviderView['kind'], ProviderView> = {
  found: { kind: 'found', paymentId: 'pi_1' },
  processing: { kind: 'processing', paymentId: 'pi_1', state: 'processing' },
  differs: { kind: 'differs', paymentId: 'pi_2', message: 'of another amount' },
  reversed: { kind: 'reversed', paymentId: 'pi_1', message: 'gone back in full' },
  notFound: { kind: 'notFound' },
  silent: { kind: 'silent', message: 'down' },
};
const someViews = fc.array(fc.constantFrom(...Object.values(views)), { minLength: 1 });

describe('onceCallsAreOver', () => {
  test('no payment counts once the last call is over for certain', () => {
    const whenAsked = (askedAt: number) => onceCallsAreOver(views.notFound, { askedAt, callsOverAt: now });
    expect(whenAsked(now - 1)).toMatchObject({ kind: 'wait', until: '2026-01-01T12:00:00.000Z' });
    expect(whenAsked(now)).toEqual(views.notFound);
    expect(onceCallsAreOver(views.notFound, { askedAt: now, callsOverAt: undefined })).toEqual(
      views.notFound,
    );
  });

  test('what has gone back in full may be followed by another call all the same', () => {
    const whenAsked = (askedAt: number) => onceCallsAreOver(views.reversed, { askedAt, callsOverAt: now });
    expect(whenAsked(now - 1).kind).toBe('wait');
    expect(whenAsked(now)).toEqual(views.reversed);
  });

  test('a payment is recorded at any time', () => {
    for (const payment of [views.found, views.processing])
      expect(onceCallsAreOver(payment, { askedAt: now - 1, callsOverAt: now })).toEqual(payment);
  });

  test('no payment only if every answer says so, and none is missing', () => {
    fc.assert(
      fc.property(someViews, fc.integer({ min: -5, max: 5 }), (all, since) => {
        const after = onceCallsAreOver(weightiest(all), { askedAt: now + since, callsOverAt: now });
        const kinds = new Set(all.map(({ kind }) => kind));
        expect(after.kind === 'notFound').toBe(kinds.size === 1 && kinds.has('notFound') && since >= 0);
        if (after.kind === 'reversed') {
          kinds.delete('notFound');
          expect([...kinds]).toEqual(['reversed']);
        }
        if (kinds.has('found') || kinds.has('processing'))
          expect(['found', 'processing']).toContain(after.kind);
      }),
    );
  });
});

test('the timeline says why an invoice could be voided, or charged anew', () => {
  expect(checkNote({ kind: 'notFound' })).toBe('the provider has no payment');
  expect(checkNote({ kind: 'reversed', paymentId: 'pi_1', message: '' })).toBe(
    'payment pi_1 has gone back in full',
  );
  expect(checkNote({ kind: 'differs', paymentId: 'pi_1', message: '' })).toBe('payment pi_1 does not count');
});
