import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTimeSpan } from '../../local/functionsHost/timeSpan.ts';
import { callWindowMs, lockRenewalMs, longestTimeoutMs } from '../../src/paying/paymentTimeout.ts';

/** Any pair that the settings take (readSettings.test.ts compares). */
const accepted = fc.integer({ min: 5_000, max: 86_400_000 }).chain((claimStaleMs) =>
  fc.record({
    claimStaleMs: fc.constant(claimStaleMs),
    timeoutMs: fc.integer({ min: 1, max: Math.min(80_000, Math.floor(longestTimeoutMs(claimStaleMs))) }),
  }),
);

test('a payment that begins in time is over before its claim is stale and its message is lost', () => {
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
])('claims of %i s and calls of at most %i s: payments begin for %f s', (stale, timeout, window) => {
  expect(callWindowMs({ claimStaleMs: stale * 1_000, timeoutMs: timeout * 1_000 })).toBe(window * 1_000);
});

test('claims that go stale later than the lock ends leave no more time', () => {
  expect(longestTimeoutMs(86_400_000)).toBe(longestTimeoutMs(lockRenewalMs));
});

test('the lock is renewed as long as host.json says', () => {
  const host = JSON.parse(readFileSync(new URL('../../host.json', import.meta.url), 'utf8'));
  expect(parseTimeSpan(host.extensions.serviceBus.maxAutoLockRenewalDuration)).toBe(lockRenewalMs);
});
