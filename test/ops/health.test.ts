import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PauseStore } from '../../packages/jobs/src/rate/paceStore.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { checkHealth, type HealthCheck } from '../../src/ops/health.ts';
import { memoryPauseStore } from '../memory/memoryPauseStore.ts';

const check = (healthChecks: readonly HealthCheck[], pauses: Pick<PauseStore, 'read'> = memoryPauseStore()) =>
  checkHealth({ healthChecks, pauses, instance: { clock: systemClock } });

describe('checkHealth', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('is ok if everything answers', async () => {
    const checks = ['a', 'b'].map((name) => ({ name, probe: async () => 1 }));
    expect(await check(checks)).toEqual({
      status: 'ok',
      paused: null,
      checks: { a: { ok: true, ms: expect.any(Number) }, b: { ok: true, ms: expect.any(Number) } },
    });
  });

  test('names what fails, and why', async () => {
    const checks = [
      { name: 'good', probe: async () => 1 },
      { name: 'bad', probe: () => Promise.reject(new Error('no route')) },
    ];
    expect(await check(checks)).toMatchObject({
      status: 'failing',
      checks: { good: { ok: true }, bad: { ok: false, error: 'no route' } },
    });
  });

  test('does not wait for ever for a probe that never answers and ignores its signal', async () => {
    const checking = check([{ name: 'silent', probe: () => new Promise(() => {}) }]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await checking).toMatchObject({
      status: 'failing',
      checks: { silent: { ok: false, error: 'no answer within 5000 ms' } },
    });
  });

  test('says that it does not know of a pause if that cannot be read', async () => {
    const pauses = { read: () => Promise.reject(new Error('away')) };
    expect(await check([], pauses)).toMatchObject({ status: 'ok', paused: 'unknown' });
  });
});
