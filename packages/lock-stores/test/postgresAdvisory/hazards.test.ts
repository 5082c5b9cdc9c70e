import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { pgbouncerPrograms, startPgbouncer } from '../../../../test/support/servers/pgbouncer.ts';
import { postgresPrograms, startPostgres } from '../../../../test/support/servers/postgres.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { until } from '../../../../test/support/until.ts';
import { createLocks, type LockStore } from '../../../leases/src/index.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { aNumber, fieldsOf, listOf } from '../../src/answers.ts';
import { longestWaitMs } from '../../src/postgres/advisoryStatements.ts';
import { postgresAdvisoryLockStore } from '../../src/postgres/postgresAdvisoryLockStore.ts';
import { keyNumber } from '../../src/sql/lockNames.ts';

const leaseMs = 60_000;
const table = 'payonce_advisory_locks';
const tryLock = 'select pg_try_advisory_lock($1) as locked';

const processes = listOf(fieldsOf<{ pid: number }>({ pid: aNumber }));

const opened: AsyncDisposable[] = [];
afterAll(async () => {
  for (const each of opened.toReversed()) await each[Symbol.asyncDispose]();
});
function toClose<T extends AsyncDisposable>(each: T): T {
  opened.push(each);
  return each;
}
const open = (url: string) => toClose(postgresAdvisoryLockStore(url));

async function created(store: LockStore): Promise<string> {
  const key = randomUUID();
  await store.create(key, never);
  return key;
}

async function client(url: string): Promise<Client> {
  const made = new Client(url).on('error', () => {});
  await made.connect();
  return made;
}

describeWith(postgresPrograms, 'hazards of advisory locks', async () => {
  const server = toClose(await startPostgres({ max_connections: '20' }));
  const store = open(server.url);
  const taken = (number: number) =>
    server.run(`select from pg_locks where locktype = 'advisory' and objid = $1`, [number]);

  const owner = { instance: 'a', job: 'line' };
  /** Processes of the server that wait for the lock. */
  const waitingFor = async (key: string) => {
    const rows = await server.run(
      `select pid from pg_locks where locktype = 'advisory' and not granted
       and (classid::bigint << 32) | objid::bigint = $1`,
      [String(keyNumber(table, key))],
    );
    return processes(rows).map(({ pid }) => pid);
  };

  test('one session gets the same lock twice, so a pool gives it to two jobs; the store does not', async () => {
    const pool = new Pool({ connectionString: server.url, max: 1 });
    expect((await pool.query(tryLock, [1])).rows).toEqual([{ locked: true }]);
    expect((await pool.query(tryLock, [1])).rows).toEqual([{ locked: true }]);
    await pool.end();

    const key = await created(store);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    expect(await store.acquire(key, two, leaseMs, never)).toBe('held');
    // The connection comes back, and holds nothing any more.
    await store.release(key, one, never);
    expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
    expect(await store.acquire(key, one, leaseMs, never)).toBe('held');
  });

  test('a waiter asks anew when its session is ended, and leaves none behind when it gives up', async () => {
    await using locks = createLocks(open(server.url));
    const key = await created(store);
    const waiting = () => waitingFor(key);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    const ending = new AbortController();
    const gaveUp = locks.acquire(key, owner, { waitMs: 60_000, signal: ending.signal });
    const [first] = await until(waiting, (pids) => pids.length === 1);
    ending.abort(new Error('no longer wanted'));
    await expect(gaveUp).rejects.toThrow('no longer wanted');
    const patient = locks.acquire(key, owner, { waitMs: 60_000 });
    const [second] = await until(waiting, (pids) => pids.length === 1 && pids[0] !== first);
    await server.run('select pg_terminate_backend($1)', [second]);
    await until(waiting, (pids) => pids.length === 1 && pids[0] !== second);
    await store.release(key, one, never);
    await (await patient).release();
  });

  test('a waiter whose connection falls silent asks anew on another', async () => {
    await using network = await startTcpProxy({ port: server.port });
    await using locks = createLocks(open(`postgres://test@127.0.0.1:${network.port}/postgres`));
    const key = await created(store);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    const waiting = locks.acquire(key, owner, { waitMs: 60_000 });
    await until(
      () => waitingFor(key),
      (pids) => pids.length === 1,
    );
    network.fault({ kind: 'blackHole' });
    // The server gives up, and nobody hears of it.
    await until(
      () => waitingFor(key),
      (pids) => pids.length === 0,
    );
    network.fault({ kind: 'none' });
    await store.release(key, one, never);
    await (await waiting).release();
  });

  test.skipIf(noSignals)(
    'a lock granted while the wait for it times out is free after one release',
    async () => {
      await using locks = createLocks(open(server.url));
      const key = await created(store);
      expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
      const waiting = locks.acquire(key, owner, { waitMs: 60_000 });
      const [pid = 0] = await until(
        () => waitingFor(key),
        (pids) => pids.length === 1,
      );
      // It hears of both at once.
      process.kill(pid, 'SIGSTOP');
      await store.release(key, one, never);
      await delay(longestWaitMs + 500);
      process.kill(pid, 'SIGCONT');
      await (await waiting).release();
      expect(await store.acquire(key, two, leaseMs, never)).toBe('acquired');
    },
  );

  test('a holder that falls silent keeps a plain lock; the lock of a lease ends with the lease', async () => {
    await using network = await startTcpProxy({ port: server.port });
    const through = `postgres://test@127.0.0.1:${network.port}/postgres`;
    const plain = await client(through);
    await plain.query(tryLock, [2]);
    const holder = open(through);
    const key = await created(holder);
    const startedAt = performance.now();
    expect(await holder.acquire(key, one, 1_000, never)).toBe('acquired');
    network.fault({ kind: 'blackHole' });
    await until(
      () => store.acquire(key, two, leaseMs, never),
      (answer) => answer === 'acquired',
    );
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
    expect(await taken(2)).toHaveLength(1);
  });

  test('an acquire that was aborted leaves a plain lock behind; the store leaves none', async () => {
    const plain = await client(server.url);
    const key = await created(store);
    await server.freeze();
    void plain.query(tryLock, [3]);
    const late = store.acquire(key, one, leaseMs, AbortSignal.timeout(300));
    await expect(late).rejects.toThrow('aborted');
    server.thaw();
    expect((await plain.query('select 1')).rows).toHaveLength(1);
    expect(await taken(3)).toHaveLength(1);
    await until(
      () => store.acquire(key, two, leaseMs, never),
      (answer) => answer === 'acquired',
    );
    await plain.end();
  });

  test('two keys with the same number are not one lock: the second is rejected by name', async () => {
    const number = String(keyNumber(table, 'second'));
    await server.run(`insert into ${table} values ($1, 'first', 'v')`, [number]);
    const rejected = /"second" and "first" have the same advisory lock/;
    await expect(store.look('second', never)).rejects.toThrow(rejected);
    await expect(store.create('second', never)).rejects.toThrow(rejected);
    await expect(store.acquire('second', one, leaseMs, never)).rejects.toThrow(rejected);
    const locked = 'select from pg_locks where (classid::bigint << 32) | objid::bigint = $1';
    expect(await server.run(locked, [number])).toEqual([]);
  });

  test('a server without a free connection rejects an acquire, and the other leases go on', async () => {
    const held: string[] = [];
    const crowd = open(server.url);
    const fill = async () => {
      for (;;) {
        const key = await created(crowd);
        await crowd.acquire(key, one, leaseMs, never);
        held.push(key);
      }
    };
    await expect(fill()).rejects.toThrow('too many clients');
    expect(held.length).toBeGreaterThan(5);
    for (const key of held) expect(await crowd.renew(key, one, leaseMs, never)).toBe('renewed');
    const [first = ''] = held;
    expect(await crowd.release(first, one, never)).toBe('released');
    expect(await crowd.acquire(first, two, leaseMs, never)).toBe('acquired');
    await crowd[Symbol.asyncDispose]();
  });
});

describeWith({ ...postgresPrograms, ...pgbouncerPrograms }, 'advisory locks behind PgBouncer', async () => {
  const server = toClose(await startPostgres());
  const bouncer = toClose(await startPgbouncer(server.port));
  const advisory = `select objid from pg_locks where locktype = 'advisory'`;

  test('with transaction pooling two clients get the same lock, and leave it behind; the store refuses', async () => {
    const [a, b] = [await client(bouncer.url), await client(bouncer.url)];
    expect((await a.query(tryLock, [1])).rows).toEqual([{ locked: true }]);
    expect((await b.query(tryLock, [1])).rows).toEqual([{ locked: true }]);
    await Promise.all([a.end(), b.end()]);
    expect(await server.run(advisory)).toEqual([{ objid: 1 }]);

    const ours = open(bouncer.url);
    const key = await created(ours);
    await expect(ours.acquire(key, one, leaseMs, never)).rejects.toThrow('need a direct connection');
    expect(await server.run(advisory)).toEqual([{ objid: 1 }]);
    const direct = open(server.url);
    expect(await direct.acquire(key, two, leaseMs, never)).toBe('acquired');
  });
});
