import { describe, expect, test } from 'vitest';
import { never } from '../../../leases/src/testing/subject.ts';
import { connectionPool } from '../../src/sql/connectionPool.ts';
import type { SqlConnection } from '../../src/sql/sqlConnection.ts';

interface FakeConnection extends SqlConnection {
  number: number;
  closed: boolean;
}

/** A pool of at most two connections to nowhere, and those that it has opened. */
function fakePool(mostIdle = 2) {
  const opened: FakeConnection[] = [];
  const pool = connectionPool(
    async () => {
      const ended = new AbortController();
      const connection: FakeConnection = {
        number: opened.length,
        closed: false,
        run: async () => ({ rows: [], matched: 0 }),
        ended: ended.signal,
        destroy: () => ended.abort(new Error('destroyed')),
        async close() {
          connection.closed = true;
        },
      };
      opened.push(connection);
      return connection;
    },
    2,
    mostIdle,
  );
  const number = () => pool.use(never, async (connection) => connection.number);
  /** Work that has taken a connection and ends when told. */
  function start(signal: AbortSignal = never) {
    const ending = Promise.withResolvers<void>();
    const done = pool.use(signal, () => ending.promise);
    return { end: ending.resolve, fail: ending.reject, done };
  }
  return { pool, opened, number, start };
}

describe('connections to a SQL server', () => {
  test('are used again', async () => {
    const { number } = fakePool();
    expect([await number(), await number()]).toEqual([0, 0]);
  });

  test('are as many as allowed; further calls wait for one', async () => {
    const { opened, number, start } = fakePool();
    const [a, b] = [start(), start()];
    const waiting = number();
    await Promise.resolve();
    a.end();
    expect(await waiting).toBe(0);
    b.end();
    await b.done;
    expect(opened).toHaveLength(2);
  });

  test('a call that is aborted while it waits never runs', async () => {
    const { pool, start } = fakePool();
    const [a, b] = [start(), start()];
    const giving = new AbortController();
    let ran = false;
    const waiting = pool.use(giving.signal, async () => (ran = true));
    giving.abort(new Error('aborted'));
    await expect(waiting).rejects.toThrow('aborted');
    a.end();
    b.end();
    await Promise.all([a.done, b.done]);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ran).toBe(false);
  });

  test('one that fails is used no more, and nor are those that were idle', async () => {
    const { opened, number, start } = fakePool();
    const [a, b] = [start(), start()];
    a.end();
    await a.done;
    b.fail(new Error('reset'));
    await expect(b.done).rejects.toThrow('reset');
    expect(opened.map(({ ended }) => ended.aborted)).toEqual([true, true]);
    expect(await number()).toBe(2);
  });

  test('one whose work is aborted is used no more', async () => {
    const { opened, number, start } = fakePool();
    const giving = new AbortController();
    const { done } = start(giving.signal);
    await new Promise((resolve) => setTimeout(resolve, 10));
    giving.abort(new Error('aborted'));
    await expect(done).rejects.toThrow('aborted');
    expect(await number()).toBe(1);
    expect(opened[0]?.ended.aborted).toBe(true);
  });

  test('one that the server has ended is used no more', async () => {
    const { opened, number } = fakePool();
    await number();
    opened[0]?.destroy();
    expect(await number()).toBe(1);
  });

  test('one that is kept does not count, until it is returned', async () => {
    const { pool, opened, number } = fakePool();
    const kept = await pool.use(never, async (connection, keep) => {
      keep();
      return connection;
    });
    expect(await number()).toBe(1);
    pool.giveBack(kept);
    expect(await number()).toBe(0);
    expect(opened).toHaveLength(2);
  });

  test('are forgotten once their lender has them back: each request has one', async () => {
    const { pool, opened, number } = fakePool(0);
    expect([await number(), await number()]).toEqual([0, 1]);
    await pool[Symbol.asyncDispose]();
    expect(opened.map(({ closed, ended }) => [closed, ended.aborted])).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  test('are closed at disposal, those in use at once; then no call is taken', async () => {
    const { pool, opened, number, start } = fakePool();
    await number();
    const busy = start();
    const idle = start();
    idle.end();
    await idle.done;
    await pool[Symbol.asyncDispose]();
    expect(opened.map(({ ended }) => ended.aborted)).toEqual([true, true]);
    expect(opened.filter(({ closed }) => closed)).toHaveLength(1);
    await expect(number()).rejects.toThrow('disposed');
    busy.end();
    await busy.done;
  });
});
