import { describe, expect, test } from 'vitest';
import type { DeployedApp } from '../../../scripts/deployment/deployedApp.ts';
import { type VerifyOptions, verifyDeployment } from '../../../scripts/deployment/verify.ts';
import { virtualClock } from '../../support/virtualClock.ts';

/** An app that answers `healths` in turn, the last for ever, and whose timers fire every so many milliseconds. */
function anApp(
  clock: ReturnType<typeof virtualClock>,
  {
    healths = [{ status: 200, body: '{}' }],
    sweepMs = 30_000,
    runMs = 300_000,
    lists = true,
    hasSecret = true,
    me = { actor: 'pipeline', roles: ['ops.read'] },
  } = {},
) {
  const calls: string[] = [];
  const started = clock.monotonic();
  const ticks = (everyMs: number) => Math.floor((clock.monotonic() - started) / everyMs);
  const app: DeployedApp = {
    async syncTriggers() {
      calls.push('sync');
    },
    async readKey() {
      calls.push('key');
    },
    hasSecret: async () => hasSecret,
    async refreshSecrets() {
      calls.push('refresh');
    },
    async health() {
      calls.push('health');
      const answer = healths.length > 1 ? healths.shift() : healths[0];
      if (answer === undefined) throw new Error('ECONNREFUSED');
      return answer;
    },
    me: async () => me,
    async fences() {
      if (!lists) return undefined;
      return { 'jobs/sweep-outbox': 7 + ticks(sweepMs), 'jobs/process-invoices/0': 3 + ticks(runMs) };
    },
  };
  return { app, calls };
}

async function verdictOf(
  parts: Parameters<typeof anApp>[1] = {},
  options: Partial<Omit<VerifyOptions, 'clock'>> = {},
) {
  const clock = virtualClock();
  const { app, calls } = anApp(clock, parts);
  let done = false;
  const verdict = verifyDeployment(app, {
    clock,
    intervalSeconds: 300,
    paused: false,
    signIn: false,
    log: () => {},
    ...options,
  });
  void verdict.finally(() => {
    done = true;
  });
  const start = clock.now();
  while (!done && clock.now() - start < 3_600_000) await clock.advance(10_000);
  return { verdict: await verdict, calls, seconds: (clock.now() - start) / 1000 };
}

describe('a deployment', () => {
  test('works if health is ok and both timers fire', async () => {
    const { verdict, calls, seconds } = await verdictOf();
    expect(verdict).toEqual({ kind: 'works', notes: [] });
    expect(calls).toEqual(['sync', 'key', 'health']);
    expect(seconds).toBeLessThanOrEqual(320);
  });

  test('failed if ops requires a sign-in and the roles of callers do not arrive', async () => {
    for (const me of [
      { actor: 'function key', roles: ['ops.read', 'ops.write'] },
      { actor: 'pipeline', roles: [] },
    ]) {
      const { verdict } = await verdictOf({ me }, { signIn: true });
      expect(verdict).toMatchObject({ kind: 'failed', what: expect.stringContaining(me.actor) });
    }
    expect((await verdictOf({}, { signIn: true })).verdict).toMatchObject({ kind: 'works' });
  });

  test('may take a while to answer', async () => {
    const healths = [
      { status: 404, body: '' },
      { status: 503, body: 'cosmos' },
      { status: 200, body: '{}' },
    ];
    expect((await verdictOf({ healths })).verdict).toMatchObject({ kind: 'works' });
  });

  test('failed if health stays bad, and its answer is repeated', async () => {
    const { verdict } = await verdictOf({ healths: [{ status: 503, body: '{"checks":{"cosmos":…' }] });
    expect(verdict).toMatchObject({ kind: 'failed', what: expect.stringContaining('cosmos') });
  });

  const unresolved =
    '{"checks":{"settings":{"error":"STRIPE_SECRET_KEY: is an unresolved Key Vault reference: …"}}}';

  test('waits if the vault has no Stripe key, which is no failure', async () => {
    const healths = [{ status: 503, body: unresolved }];
    const { verdict, seconds } = await verdictOf({ healths, hasSecret: false });
    expect(verdict).toEqual({ kind: 'waits', for: expect.stringMatching(/^stripe-secret-key: .*503 /) });
    expect(seconds).toBeLessThan(60);
  });

  test('does not wait for a key that the vault has: the platform reads it again, and in the end that has failed', async () => {
    const { verdict, calls } = await verdictOf({ healths: [{ status: 503, body: unresolved }] });
    expect(verdict).toMatchObject({
      kind: 'failed',
      look: expect.stringContaining('Key Vault Secrets User'),
    });
    // Each time the app restarts: not at every look.
    expect(calls.filter((call) => call === 'refresh')).toHaveLength(6);
  });

  test('failed if a sign-in keeps this identity out, and says what to add', async () => {
    const { verdict } = await verdictOf({ healths: [{ status: 401, body: '' }] });
    expect(verdict).toMatchObject({
      kind: 'failed',
      look: expect.stringContaining('PAYONCE_OPS_ALLOWED_APPLICATIONS'),
    });
  });

  test.each([
    ['sweepOutbox', { sweepMs: Number.POSITIVE_INFINITY }, 180],
    ['processInvoices', { runMs: Number.POSITIVE_INFINITY }, 600],
  ] as const)('failed if the timer %s has stopped', async (name, parts, leastSeconds) => {
    const { verdict, seconds } = await verdictOf(parts);
    expect(verdict).toMatchObject({
      kind: 'failed',
      what: expect.stringContaining(name),
      look: expect.stringContaining('restart'),
    });
    expect(seconds).toBeGreaterThanOrEqual(leastSeconds);
  });

  test.each([
    ['payments are paused', {}, { paused: true }],
    ['runs are far apart', {}, { intervalSeconds: 86_400 }],
    ['the store of locks cannot list', { lists: false }, {}],
  ])('works without a run if %s, and says so', async (_when, parts, options) => {
    const { verdict } = await verdictOf({ runMs: Number.POSITIVE_INFINITY, ...parts }, options);
    expect(verdict).toMatchObject({ kind: 'works', notes: [expect.any(String)] });
  });
});
