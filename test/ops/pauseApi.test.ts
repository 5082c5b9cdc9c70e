import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  aRequest,
  bodyOf,
  type Call,
  type OpsForTests,
  opsForTests,
  principal,
} from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const pause = (call: Call) =>
  ops.api.pausePayments(aRequest({ method: 'POST', headers: principal, ...call }));
const resume = (call: Call = {}) =>
  ops.api.resumePayments(aRequest({ method: 'POST', headers: principal, ...call }), ops.orchestrations);
const shown = async () => ({
  pause: (bodyOf(await ops.api.getPause(aRequest())) as { paused: unknown }).paused,
  summary: (bodyOf(await ops.api.getSummary(aRequest())) as { paused: unknown }).paused,
  health: (bodyOf(await ops.api.getHealth(aRequest())) as { paused: unknown }).paused,
});

describe('POST ops/pause', () => {
  test.each([
    [{}, 'reason', 'expected a reason of 1 to 500 characters'],
    [{ reason: '  ' }, 'reason', 'expected a reason of 1 to 500 characters'],
    [{ reason: 'x', until: 'tomorrow' }, 'until', 'expected a time from 1970 to 9999'],
    [{ reason: 'x', until: '2026-01-01T11:00:00Z' }, 'until', 'expected a time after now'],
    [{ reason: 'x', for: '1h' }, 'body', 'for'],
  ])('%o: 400 that names the field', async (body, field, error) => {
    const response = await pause({ body });
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({
      errors: [{ field, error: expect.stringContaining(error) as unknown }],
    });
    expect(await shown()).toEqual({ pause: null, summary: null, health: null });
  });

  test('a pause is shown in summary and health, can be changed, ends by itself, and is audited', async () => {
    const first = await pause({ body: { reason: 'bank holiday' } });
    expect(bodyOf(first)).toEqual({
      paused: { reason: 'bank holiday', by: 'ada@example.com', at: '2026-01-01T12:00:00.000Z', until: null },
      holdsFrom: '2026-01-01T12:00:10.000Z',
    });
    await ops.clock.advance(60_000);
    await pause({ body: { reason: 'fraud wave', until: '2026-01-01T14:00:00+01:00' } });
    const expected = {
      reason: 'fraud wave',
      by: 'ada@example.com',
      at: '2026-01-01T12:01:00.000Z',
      until: '2026-01-01T13:00:00.000Z',
    };
    expect(await shown()).toEqual({ pause: expected, summary: expected, health: expected });
    expect((await ops.api.getHealth(aRequest())).status).toBe(200);
    await ops.clock.advance(3_600_000);
    expect(await shown()).toEqual({ pause: null, summary: null, health: null });
    expect(bodyOf(await resume())).toEqual({ paused: null, resumed: false });
    expect(ops.started).toEqual([]);
    expect((await ops.audited()).map(({ action, actor, detail }) => ({ action, actor, detail }))).toEqual([
      {
        action: 'pause payments',
        actor: 'ada@example.com',
        detail: { reason: 'bank holiday', until: null },
      },
      {
        action: 'pause payments',
        actor: 'ada@example.com',
        detail: { reason: 'fraud wave', until: '2026-01-01T13:00:00.000Z' },
      },
    ]);
  });
});

describe('POST ops/resume', () => {
  test('ends the pause, starts a run, and says so in the audit', async () => {
    await pause({ body: { reason: 'again' } });
    const response = await resume({ body: { reason: 'all clear' } });
    const { runId, ...rest } = bodyOf(response) as { runId: string };
    expect(rest).toMatchObject({ paused: null, resumed: true, pausedBy: 'ada@example.com' });
    expect(await shown()).toEqual({ pause: null, summary: null, health: null });
    expect(ops.started).toMatchObject([{ instanceId: runId }]);
    expect((await ops.audited()).at(-1)).toMatchObject({
      action: 'resume payments',
      target: 'payments',
      detail: { reason: 'all clear', pausedBy: 'ada@example.com', runId },
    });
    expect(bodyOf(await resume())).toEqual({ paused: null, resumed: false });
  });

  test('resumes even if no run can be started', async () => {
    await pause({ body: { reason: 'again' } });
    const broken = {
      ...ops.orchestrations,
      startNew: () => Promise.reject(new Error('the task hub is away')),
    };
    const response = await ops.api.resumePayments(aRequest({ method: 'POST' }), broken);
    expect(bodyOf(response)).toMatchObject({ resumed: true, runId: null });
    expect(await shown()).toEqual({ pause: null, summary: null, health: null });
  });
});
