import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { createLocks, workItemLockKey } from '../../packages/leases/src/index.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

const owner = { instance: 'host-1', job: 'count', runId: 'run-1' };

function hold(key: string, options: { fenced?: boolean } = {}) {
  const locks = createLocks(ops.lockStore, { clock: systemClock, telemetry: ops.telemetry });
  return locks.acquire(key, owner, { waitMs: 0, ...options });
}

async function listed(key: string) {
  const { locks } = bodyOf(await ops.api.listLocks(aRequest())) as { locks: { key: string }[] };
  return locks.find((lock) => lock.key === key);
}

describe('GET ops/locks', () => {
  test('shows who holds each lock, and who held it last', async () => {
    const lease = await hold('jobs/count/0');
    expect(await listed('jobs/count/0')).toEqual({
      key: 'jobs/count/0',
      held: true,
      owner: 'host-1',
      job: 'count',
      runId: 'run-1',
      acquiredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expiry: expect.stringMatching(/^\d{4}-.*Z$/),
      fence: lease.fence,
    });
    await lease.release();
    expect(await listed('jobs/count/0')).toMatchObject({ held: false, owner: 'host-1', expiry: null });
  });

  test('shows a lock without a fence only while it is held', async () => {
    const lease = await hold('jobs/count/unfenced', { fenced: false });
    expect(await listed('jobs/count/unfenced')).toMatchObject({ held: true, owner: null, fence: 0 });
    await lease.release();
    expect(await listed('jobs/count/unfenced')).toBeUndefined();
  });

  test('leaves out the locks of work items, held or not', async () => {
    const key = workItemLockKey('inv-1', 'receipt');
    await using _lease = await hold(key, { fenced: false });
    expect(await listed(key)).toBeUndefined();
  });
});

describe('POST ops/locks/release', () => {
  const release = (body: unknown) =>
    ops.api.releaseLock(aRequest({ method: 'POST', body, headers: principal }));
  const auditOf = async (key: string) =>
    (await ops.audited())
      .filter(({ target }) => target === key)
      .map(({ actor, action, detail }) => ({ actor, action, detail }));
  const reason = 'host-1 is gone';

  test('takes the lock from its holder with a higher fence, and is audited', async () => {
    const lease = await hold('jobs/release/0');
    const response = await release({ key: 'jobs/release/0', expectedOwner: 'host-1', reason });
    const { fence } = bodyOf(response) as { fence: number };
    expect(bodyOf(response)).toEqual({ key: 'jobs/release/0', previousOwner: 'host-1', fence });
    expect(fence).toBeGreaterThan(lease.fence);
    expect(await listed('jobs/release/0')).toMatchObject({ held: false, owner: 'ada@example.com', fence });
    expect(await auditOf('jobs/release/0')).toEqual([
      {
        actor: 'ada@example.com',
        action: 'release lock',
        detail: { expectedOwner: 'host-1', reason, outcome: 'released', fence },
      },
    ]);
    const next = await hold('jobs/release/0');
    expect(next.fence).toBeGreaterThan(fence);
    await next.release();
    await lease.release();
  });

  test('the wrong owner is a conflict that names the current one, and the attempt is audited', async () => {
    await using lease = await hold('jobs/release/1');
    const response = await release({ key: 'jobs/release/1', expectedOwner: 'host-2', reason });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('held by "host-1"') });
    expect(() => lease.assertHeld()).not.toThrow();
    expect(await listed('jobs/release/1')).toMatchObject({ held: true, owner: 'host-1' });
    expect(await auditOf('jobs/release/1')).toMatchObject([
      { detail: { outcome: 'otherOwner', fence: null } },
    ]);
  });

  test('a holder that left no name matches no expected owner', async () => {
    await using _lease = await hold(workItemLockKey('inv-2', 'receipt'), { fenced: false });
    const response = await release({
      key: workItemLockKey('inv-2', 'receipt'),
      expectedOwner: 'host-1',
      reason,
    });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('left no name') });
  });

  test('a free lock gets a higher fence if the expected owner held it last; otherwise it is a conflict', async () => {
    const lease = await hold('jobs/release/2');
    await lease.release();
    const free = await release({ key: 'jobs/release/2', expectedOwner: 'host-2', reason });
    expect(free.status).toBe(409);
    expect(bodyOf(free)).toMatchObject({
      detail: expect.stringContaining('is free, and was last held by "host-1", not by "host-2"'),
    });
    const fenced = await release({ key: 'jobs/release/2', expectedOwner: 'host-1', reason });
    expect(bodyOf(fenced)).toMatchObject({ previousOwner: 'host-1', fence: expect.any(Number) });
    expect(Reflect.get(Object(bodyOf(fenced)), 'fence')).toBeGreaterThan(lease.fence);
  });

  test('an unknown lock is 404', async () => {
    const none = await release({ key: 'jobs/release/none', expectedOwner: 'host-1', reason });
    expect(none.status).toBe(404);
    expect(await auditOf('jobs/release/none')).toMatchObject([{ detail: { outcome: 'notFound' } }]);
  });

  const good = { key: 'jobs/count/0', expectedOwner: 'host-1', reason };
  test.each([
    [{}, ['key', 'expectedOwner', 'reason']],
    [{ ...good, reason: undefined }, ['reason']],
    [{ ...good, reason: '  ' }, ['reason']],
    [{ ...good, key: '' }, ['key']],
    [{ ...good, key: 'x'.repeat(1_025) }, ['key']],
    [{ ...good, expectedOwner: 5 }, ['expectedOwner']],
    [{ ...good, force: true }, ['body']],
    [undefined, ['body']],
    ['[', ['body']],
  ])('%j is a problem of %j', async (body, fields) => {
    const audits = (await ops.audited()).length;
    const response = await release(body);
    expect(response.status).toBe(400);
    const { errors } = bodyOf(response) as { errors: { field: string }[] };
    expect(errors.map(({ field }) => field)).toEqual(fields);
    expect(await ops.audited()).toHaveLength(audits);
  });

  test('an attempt whose outcome is unknown is audited, and fails', async () => {
    await using own = await opsForTests();
    const broken = Object.assign(own.lockStore, { look: () => Promise.reject(new Error('no route')) });
    expect(broken).toBe(own.lockStore);
    const request = aRequest({ method: 'POST', body: good });
    await expect(own.api.releaseLock(request)).rejects.toThrow('no route');
    expect(await own.audited()).toMatchObject([
      { target: good.key, detail: { outcome: 'unknown', error: 'no route' } },
    ]);
    expect(own.journal.lines).toMatchObject([
      { target: good.key, changes: { reason } },
      { outcome: 'unknown' },
    ]);
  });
});
