import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newManualRun } from '../../packages/jobs/src/runs/manualRun.ts';
import type { RunRecord } from '../../packages/jobs/src/runs/runRecord.ts';
import { partMetric } from '../../packages/leases/src/telemetry.ts';
import {
  allPages,
  aRequest,
  bodyOf,
  type OpsForTests,
  opsForTests,
  principal,
} from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

function aRun(runId: string, startedAt: string, changes: Partial<RunRecord> = {}): RunRecord {
  const run = { job: 'process-invoices', runId, groups: ['0'], dryRun: false };
  return { ...newManualRun(run, startedAt), ...changes };
}

describe('GET ops/runs', () => {
  test('pages through the runs, newest first, all of them or those with a status', async () => {
    await using own = await opsForTests();
    const at = (n: number) => new Date(Date.parse('2025-06-01T00:00:00.000Z') + n * 60_000).toISOString();
    const order = Array.from({ length: 120 }, (_, n) => (n * 7) % 120);
    for (const n of order) {
      await own.runs.create(aRun(`run-${n}`, at(n), { status: n % 3 === 0 ? 'failed' : 'completed' }));
    }
    const newest = Array.from({ length: 120 }, (_, n) => `run-${119 - n}`);
    const all = await allPages(own.api.listRuns, 'runs', { job: 'process-invoices' });
    expect(all.map((page) => page.length)).toEqual([100, 20]);
    expect(all.flat().map(({ runId }) => runId)).toEqual(newest);
    expect(all[0]?.[0]).toMatchObject({
      job: 'process-invoices',
      trigger: 'manual',
      status: 'completed',
      counts: {},
    });
    const failed = await allPages(own.api.listRuns, 'runs', { status: 'failed' });
    expect(failed.flat().map(({ runId }) => runId)).toEqual(
      newest.filter((id) => Number(id.slice(4)) % 3 === 0),
    );
  });

  test.each([
    ['status', 'done', 'expected one of running, completed, failed, cancelled, abandoned, got "done"'],
    ['job', 'other', 'expected one of process-invoices, bulk, all, got "other"'],
    ['continuation', 'nonsense', 'expected what an earlier page gave as "continuation"'],
  ])('a bad %s is a problem that names it', async (field, value, error) => {
    const response = await ops.api.listRuns(aRequest({ query: { [field]: value } }));
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field, error }] });
  });
});

describe('POST ops/runs/{id}/cancel', () => {
  const cancel = (id: string, body?: unknown) =>
    ops.api.cancelRun(
      aRequest({ method: 'POST', params: { id }, body, headers: principal }),
      ops.orchestrations,
    );

  test('cancels a manual run, terminates its orchestration, and is audited', async () => {
    const started = await ops.api.startRun(
      aRequest({ method: 'POST', body: { job: 'process-invoices' } }),
      ops.orchestrations,
    );
    const { runId } = bodyOf(started) as { runId: string };
    const reason = 'cancelled by ada@example.com: wrong day';
    expect(bodyOf(await cancel(runId, { reason: 'wrong day' }))).toMatchObject({
      runId,
      status: 'cancelled',
      reason,
      completedAt: '2026-01-01T12:00:00.000Z',
    });
    expect(ops.terminated).toEqual([{ instanceId: runId, reason }]);
    expect(await ops.runs.read('process-invoices', runId)).toMatchObject({ status: 'cancelled' });
    expect(await ops.audited()).toContainEqual(
      expect.objectContaining({
        actor: 'ada@example.com',
        action: 'cancel run',
        target: `process-invoices/${runId}`,
        detail: { reason: 'wrong day' },
      }),
    );
    expect(ops.telemetry.reports).toContainEqual({
      name: partMetric.runEnded,
      value: 1,
      attributes: { job: 'process-invoices', trigger: 'manual', status: 'cancelled' },
    });
  });

  test('cancels a run of the timer through its record alone', async () => {
    await ops.runs.create(aRun('by-timer', '2026-01-01T11:00:00.000Z', { trigger: 'timer' }));
    const told = ops.terminated.length;
    expect(bodyOf(await cancel('by-timer'))).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled by ada@example.com',
    });
    expect(ops.terminated).toHaveLength(told);
  });

  test('cancels a run whose orchestration was never started', async () => {
    await ops.runs.create(aRun('orphan', '2026-01-01T11:00:00.000Z'));
    expect(bodyOf(await cancel('orphan'))).toMatchObject({ status: 'cancelled' });
  });

  test.each(['completed', 'failed', 'cancelled'] as const)('a %s run is a conflict', async (status) => {
    const id = `ended-${status}`;
    await ops.runs.create(aRun(id, '2026-01-01T11:00:00.000Z', { status }));
    const audits = (await ops.audited()).length;
    const response = await cancel(id);
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining(`is ${status}`) });
    expect(await ops.audited()).toHaveLength(audits);
  });

  test('an unknown run is 404', async () => {
    expect((await cancel('nobody')).status).toBe(404);
  });

  test('a bad body is a problem', async () => {
    const response = await cancel('by-timer', { reason: 7 });
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'reason' }] });
  });
});
