import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callerOf } from '../../src/ops/caller.ts';
import { cosmosAudit } from '../../src/ops/cosmosAudit.ts';
import { allPages, aRequest, bodyOf, type OpsForTests, opsForTests } from '../support/opsForTests.ts';
import { virtualClock } from '../support/virtualClock.ts';

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests();
});
afterAll(() => ops[Symbol.asyncDispose]());

describe('GET ops/audit', () => {
  test('pages through a day, newest first; the default is today', async () => {
    const clock = virtualClock(Date.parse('2025-12-31T20:00:00.000Z'));
    const audit = cosmosAudit(ops.cosmos.containers.audit, clock);
    for (let n = 0; n < 130; n++) {
      await audit.append({ actor: 'ada', action: 'test', target: `t${n}`, detail: { n } });
      clock.stall(1_000);
    }
    clock.stall(8 * 3600 * 1000);
    await audit.append({ actor: 'ada', action: 'test', target: 'today' });

    const pages = await allPages(ops.api.listAudit, 'records', { day: '2025-12-31' });
    expect(pages.map((page) => page.length)).toEqual([100, 30]);
    expect(pages.flat().map(({ target }) => target)).toEqual(
      Array.from({ length: 130 }, (_, n) => `t${129 - n}`),
    );
    expect(pages[0]?.[0]).toEqual({
      id: expect.any(String),
      at: '2025-12-31T20:02:09.000Z',
      actor: 'ada',
      action: 'test',
      target: 't129',
      detail: { n: 129 },
    });
    expect((await allPages(ops.api.listAudit, 'records')).flat()).toMatchObject([{ target: 'today' }]);
    expect((await allPages(ops.api.listAudit, 'records', { day: '2020-02-29' })).flat()).toEqual([]);
  });

  test.each([
    ['day', 'yesterday', 'expected a day as YYYY-MM-DD, got "yesterday"'],
    ['day', '2026-02-30', 'expected a day as YYYY-MM-DD'],
    ['day', '2026-01-01T00:00:00Z', 'expected a day as YYYY-MM-DD'],
    ['continuation', 'nonsense', 'expected what an earlier page gave'],
  ])('a bad %s (%s) is a problem that names it', async (field, value, error) => {
    const response = await ops.api.listAudit(aRequest({ query: { [field]: value } }));
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field, error: expect.stringContaining(error) }] });
  });
});

test('the caller’s name is cut to what a lock’s record can hold', () => {
  const headers = new Headers({ 'x-ms-client-principal-name': 'x'.repeat(300) });
  expect(callerOf({ headers }, 'platform').actor).toHaveLength(256);
  expect(callerOf({ headers: new Headers() }, 'none').actor).toBe('function key');
});

describe('a name that the holder of a key gives', () => {
  const actorOf = (name: string, signIn: 'none' | 'platform' = 'none') =>
    callerOf({ headers: new Headers({ 'x-actor': name }) }, signIn);

  test('is recorded as their word, and permits nothing', () => {
    expect(actorOf(encodeURIComponent('Zoë Müller'))).toEqual({
      actor: 'function key (says: Zoë Müller)',
      roles: ['ops.read', 'ops.write'],
    });
    expect(actorOf('Ada', 'platform')).toEqual({ actor: 'signed-in caller without a name', roles: [] });
  });

  test('is short, and one line of plain text', () => {
    expect(actorOf('x'.repeat(500)).actor).toBe(`function key (says: ${'x'.repeat(80)})`);
    for (const bad of ['', '  ', '%E0%A4%A', 'ad%0Amin', 'a%00b', '%E2%80%8B'])
      expect(actorOf(bad).actor).toBe('function key');
  });
});
