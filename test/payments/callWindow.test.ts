import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTimeSpan } from '../../local/functionsHost/timeSpan.ts';
import { callWindowMs, lockRenewalMs } from '../../src/payments/callWindow.ts';

test('a call that begins in time is over before its claim is stale and its message is lost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 80_000 }),
      fc.integer({ min: 5_000, max: 86_400_000 }),
      (timeoutMs, claimStaleMs) => {
        const callMs = callWindowMs({ timeoutMs, claimStaleMs });
        expect(callMs).toBeGreaterThanOrEqual(0);
        if (callMs > 0) expect(callMs + timeoutMs).toBeLessThan(Math.min(claimStaleMs, lockRenewalMs));
      },
    ),
  );
});

test.each([
  [300, 30, 240],
  [20, 4, 14],
  [5, 2, 2.5],
])('claims of %i s and calls of at most %i s: calls begin for %f s', (stale, timeout, window) => {
  expect(callWindowMs({ claimStaleMs: stale * 1_000, timeoutMs: timeout * 1_000 })).toBe(window * 1_000);
});

test('the lock is renewed as long as host.json says', () => {
  const host = JSON.parse(readFileSync(new URL('../../host.json', import.meta.url), 'utf8'));
  expect(parseTimeSpan(host.extensions.serviceBus.maxAutoLockRenewalDuration)).toBe(lockRenewalMs);
});
