import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTimeSpan } from '../../packages/local-azure/src/functionsHost/timeSpan.ts';
import { callWindowMs, lockRenewalMs, longestTimeoutMs } from '../../src/paying/payingPolicy.ts';

/** Any pair the settings accept (checked in readSettings.test.ts). */
const accepted = fc.integer({ min: 5_000, max: 86_400_000 }).chain((claimStaleMs) =>
  fc.record({
    claimStaleMs: fc.constant(claimStaleMs),
    timeoutMs: fc.integer({ min: 1, max: Math.min(80_000, Math.floor(longestTimeoutMs(claimStaleMs))) }),
  }),
);

test('a payment that begins in time ends before its claim goes stale or its message lock is lost', () => {
  fc.assert(
    fc.property(accepted, ({ timeoutMs, claimStaleMs }) => {
      const payMs = callWindowMs({ timeoutMs, claimStaleMs });
      expect(payMs).toBeGreaterThanOrEqual(timeoutMs);
      const charged = payMs + timeoutMs;
      const lookedUp = charged + timeoutMs;
      expect(lookedUp).toBeLessThan(Math.min(claimStaleMs, lockRenewalMs));
    }),
  );
});

test.each([
  [300, 30, 210],
  [300, 80, 110],
  [20, 4, 10],
  [5, 1, 2.5],
])(
  'claims stale after %i s, calls of at most %i s: payments may begin for %f s',
  (stale, timeout, window) => {
    expect(callWindowMs({ claimStaleMs: stale * 1_000, timeoutMs: timeout * 1_000 })).toBe(window * 1_000);
  },
);

test('claims that outlast the lock allow no more time', () => {
  expect(longestTimeoutMs(86_400_000)).toBe(longestTimeoutMs(lockRenewalMs));
});

test('the lock is renewed as long as host.json says', () => {
  const host = JSON.parse(readFileSync(new URL('../../host.json', import.meta.url), 'utf8'));
  expect(parseTimeSpan(host.extensions.serviceBus.maxAutoLockRenewalDuration)).toBe(lockRenewalMs);
});
