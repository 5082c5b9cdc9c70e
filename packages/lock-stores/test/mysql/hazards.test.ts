import { randomUUID } from 'node:crypto';
import { createConnection, createPool, type RowDataPacket } from 'mysql2/promise';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { mariadbPrograms, startMariadb } from '../../../../test/support/servers/mariadb.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { until } from '../../../../test/support/until.ts';
import type { LockRecord, LockStore } from '../../../leases/src/index.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { type MysqlLockOptions, mysqlLockStore } from '../../src/mysql/mysqlLockStore.ts';
import { keyHash } from '../../src/sql/lockNames.ts';

const leaseMs = 60_000;
const hour = 3_600_000;
const record: LockRecord = { fence: 7, owner: { instance: 'a', job: 'hazards' }, since: 1, leaseMs };

const opened: AsyncDisposable[] = [];
afterAll(async () => {
  for (const each of opened.toReversed()) await each[Symbol.asyncDispose]();
});
function toClose<T extends AsyncDisposable>(each: T): T {
  opened.push(each);
  return each;
}

async function created(store: LockStore, key: string = randomUUID()): Promise<string> {
  await store.create(key, never);
  return key;
}

describeWith(mariadbPrograms, 'hazards of locks in MariaDB', async () => {
  const server = toClose(await startMariadb());
  const open = (options?: MysqlLockOptions) => toClose(mysqlLockStore(server.url, options));
  const store = open();
  const getLock = 'select get_lock(?, 0) as got';
  const isUsed = async (name: string) => (await server.run('select is_used_lock(?) as id', [name]))[0]?.id;

  afterEach(() => void vi.useRealTimers());

  test('all databases of a server share the names of GET_LOCK; they do not share keys', async () => {
    await server.run('create database other');
    const elsewhere = server.url.replace(/test$/, 'other');
    const [a, b] = [await createConnection(server.url), await createConnection(elsewhere)];
    expect((await a.query(getLock, ['job']))[0]).toEqual([{ got: 1 }]);
    expect((await b.query(getLock, ['job']))[0]).toEqual([{ got: 0 }]);
    await Promise.all([a.end(), b.end()]);

    for (const each of [store, toClose(mysqlLockStore(elsewhere))]) {
      await created(each, 'job');
      expect(await each.acquire('job', randomUUID(), leaseMs, never)).toBe('acquired');
    }
  });

  test('one session gets the same lock twice, so a pool gives it to two jobs; the store does not', async () => {
    const pool = createPool({ uri: server.url, connectionLimit: 1 });
    expect((await pool.query(getLock, ['twice']))[0]).toEqual([{ got: 1 }]);
    expect((await pool.query(getLock, ['twice']))[0]).toEqual([{ got: 1 }]);
    await pool.end();

    const ours = open({ connections: 1 });
    const key = await created(ours);
    expect(await ours.acquire(key, one, leaseMs, never)).toBe('acquired');
    expect(await ours.acquire(key, two, leaseMs, never)).toBe('held');
  });

  test('a holder that falls silent keeps GET_LOCK; a lease ends', async () => {
    await using network = await startTcpProxy({ port: server.port });
    const through = server.url.replace(`:${server.port}/`, `:${network.port}/`);
    const plain = await createConnection(through);
    await plain.query(getLock, ['silent']);
    const holder = toClose(mysqlLockStore(through));
    const key = await created(holder);
    const startedAt = performance.now();
    expect(await holder.acquire(key, one, 1_000, never)).toBe('acquired');
    network.fault({ kind: 'blackHole' });
    await until(
      () => store.acquire(key, two, leaseMs, never),
      (answer) => answer === 'acquired',
    );
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
    expect(await isUsed('silent')).toEqual(expect.any(Number));
    plain.destroy();
  });

  test('a time zone moves the end of a lease that is kept in local time, but not that of a row', async () => {
    await server.run('create table naive (name varchar(50) primary key, ends_at datetime)');
    await server.run(`insert into naive values ('x', now() - interval 1 day)`);
    const naive = async (zone: string): Promise<number> => {
      const session = await createConnection(server.url);
      await session.query('set time_zone = ?', [zone]);
      const [{ affectedRows }] = await session.query<RowDataPacket[] & { affectedRows: number }>(
        'update naive set ends_at = now() + interval 1 minute where ends_at < now()',
      );
      await session.end();
      return affectedRows;
    };
    // Both hold it.
    expect([await naive('+00:00'), await naive('+05:00')]).toEqual([1, 1]);

    const key = await created(store);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    await server.run(`set global time_zone = '+05:00'`);
    expect(await open().acquire(key, two, leaseMs, never)).toBe('held');
    await server.run(`set global time_zone = '-05:00'`);
    expect(await open().release(key, one, never)).toBe('released');
    await server.run(`set global time_zone = 'SYSTEM'`);
  });

  test('a text equals one with a blank more; keys and versions do not', async () => {
    expect(await server.run(`select 'a' = 'a ' as same`)).toEqual([{ same: 1 }]);
    const key = await created(store);
    await created(store, `${key} `);
    expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
    expect(await store.acquire(`${key} `, two, leaseMs, never)).toBe('acquired');
    const listed: string[] = [];
    for await (const lock of store.list?.(`${key} `, never) ?? []) listed.push(lock.key);
    expect(listed).toEqual([`${key} `]);
    const { version = '' } = (await store.look(key, never)) ?? {};
    expect(await store.raise(key, one, record, `${version} `, never)).toBe('changed');
  });

  test('the clock of a client that is an hour off gives it no lock, and takes none away', async () => {
    await server.run('create table by_client (name varchar(50) primary key, ends_at double not null)');
    const naive = (name: string) =>
      server.run(
        `insert into by_client values (?, ?) on duplicate key update
           ends_at = if(ends_at < ?, values(ends_at), ends_at)`,
        [name, String(Date.now() + leaseMs), String(Date.now())],
      );
    const changed = async () => {
      const [row] = await server.run('select ends_at from by_client');
      return Number(row?.ends_at);
    };
    const ours = await created(store);
    const late = open();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - hour });
    await naive('x');
    const first = await changed();
    expect(await late.acquire(ours, one, leaseMs, never)).toBe('acquired');
    vi.useRealTimers();
    await naive('x');
    expect(await changed()).toBeGreaterThan(first);
    expect(await store.acquire(ours, two, leaseMs, never)).toBe('held');
  });

  test('where transactions do not commit by themselves, a lock is gone with its connection; a lease stays', async () => {
    await server.run('create table uncommitted (name varchar(50) primary key)');
    await server.run('set global autocommit = 0');
    await server.run(`insert into uncommitted values ('x')`);
    const ours = open();
    const key = await created(ours);
    expect(await ours.acquire(key, one, leaseMs, never)).toBe('acquired');
    await ours[Symbol.asyncDispose]();
    await server.run('set global autocommit = 1');
    expect(await server.run('select * from uncommitted')).toEqual([]);
    expect(await store.look(key, never)).toMatchObject({ held: true });
  });

  test('a row that an open transaction has changed holds up its own lock only', async () => {
    const [stuck, other] = [await created(store), await created(store)];
    const operator = await createConnection(server.url);
    await operator.query('begin');
    await operator.query('update payonce_locks set ends_at = null, version = ? where id = ?', [
      'x',
      keyHash(stuck),
    ]);
    const aborted = store.acquire(stuck, one, leaseMs, AbortSignal.timeout(300));
    await expect(aborted).rejects.toThrow('aborted');
    expect(await store.acquire(other, one, leaseMs, never)).toBe('acquired');
    // The server gives up a statement that nobody waits for any more. It shows news only to those who seldom ask.
    const waiting = `select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`;
    await expect.poll(() => server.run(waiting), { timeout: 20_000, interval: 500 }).toEqual([]);
    await operator.query('rollback');
    await operator.end();
    expect(await store.look(stuck, never)).toMatchObject({ held: false });
  });

  test('many that start at once create the table once', async () => {
    const stores = Array.from({ length: 12 }, () => open({ table: 'many_at_once', connections: 1 }));
    const key = randomUUID();
    await Promise.all(stores.map((each) => each.create(key, never)));
    const answers = await Promise.all(stores.map((each) => each.acquire(key, randomUUID(), leaseMs, never)));
    expect(answers.filter((answer) => answer === 'acquired')).toHaveLength(1);
  });

  test('with innodb_flush_log_at_trx_commit = 0 a crash forgets a lease and its fence', async () => {
    const key = await created(store);
    const raised = async () => {
      const { version } = (await store.look(key, never)) ?? { version: '' };
      await store.acquire(key, one, leaseMs, never);
      expect(await store.raise(key, one, record, version, never)).toBe('raised');
      await server.kill();
      await server.start();
      return open().look(key, never);
    };
    await server.run('set global innodb_flush_log_at_trx_commit = 0');
    await server.run('set global innodb_flush_log_at_timeout = 600');
    expect(await raised()).toMatchObject({ held: false, record: undefined });
    // As it is by default.
    expect(await raised()).toMatchObject({ held: true, record });
  });
});
