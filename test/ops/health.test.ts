import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkHealth } from '../../src/ops/health.ts';
import { systemClock } from '../../src/platform/clock.ts';

describe('checkHealth', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('is ok if everything answers', async () => {
    const checks = ['a', 'b'].map((name) => ({ name, probe: async () => 1 }));
    expect(await checkHealth(checks, systemClock)).toEqual({
      status: 'ok',
      checks: { a: { ok: true, ms: expect.any(Number) }, b: { ok: true, ms: expect.any(Number) } },
    });
  });

  test('names what fails, and why', async () => {
    const checks = [
      { name: 'good', probe: async () => 1 },
      { name: 'bad', probe: () => Promise.reject(new Error('no route')) },
    ];
    expect(await checkHealth(checks, systemClock)).toMatchObject({
      status: 'failing',
      checks: { good: { ok: true }, bad: { ok: false, error: 'no route' } },
    });
  });

  test('does not wait for ever for a probe that never answers and ignores its signal', async () => {
    const timeout = new AbortController();
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
    const checking = checkHealth([{ name: 'silent', probe: () => new Promise(() => {}) }], systemClock);
    timeout.abort();
    expect(await checking).toMatchObject({
      status: 'failing',
      checks: { silent: { ok: false, error: 'no answer within 5000 ms' } },
    });
  });
});
