import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { pgbouncerPrograms, startPgbouncer } from '../../../../test/support/servers/pgbouncer.ts';
import { postgresPrograms, startPostgres } from '../../../../test/support/servers/postgres.ts';
import type { LockRecord, LockStore } from '../../../leases/src/index.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { type PostgresLockOptions, postgresLockStore } from '../../src/postgres/postgresLockStore.ts';
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

async function created(store: LockStore): Promise<string> {
  const key = randomUUID();
  await store.create(key, never);
  return key;
}

describeWith(postgresPrograms, 'hazards of rows in PostgreSQL', async () => {
  // Commits reach the disk ten seconds late, unless a session insists.
  const server = toClose(await startPostgres({ synchronous_commit: 'off', wal_writer_delay: '10s' }));
  const open = (options?: PostgresLockOptions, statementTimeout = 5_000) =>
    toClose(
      postgresLockStore({ connectionString: server.url, statement_timeout: statementTimeout }, options),
    );
  const store = open();

  afterEach(() => void vi.useRealTimers());

  test('the clock of a client that is an hour off gives it no lock, and takes none away', async () => {
    await server.run('create table naive (key text primary key, ends_at double precision)');
    const naive = (key: string) =>
      server.run(
        `insert into naive values ($1, $2) on conflict (key) do update set ends_at = excluded.ends_at
         where naive.ends_at < $3 returning key`,
        [key, Date.now() + leaseMs, Date.now()],
      );
    const ours = await created(store);
    const late = open();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - hour });
    expect(await naive('x')).toHaveLength(1);
    expect(await late.acquire(ours, one, leaseMs, never)).toBe('acquired');
    vi.useRealTimers();
    // Both hold it.
    expect(await naive('x')).toHaveLength(1);
    expect(await store.acquire(ours, two, leaseMs, never)).toBe('held');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hour });
    expect(await store.acquire(ours, two, leaseMs, never)).toBe('held');
  });

  test('a pool sends an acquire that was aborted later; the store does not', async () => {
    const key = await created(store);
    const busy = new Client(server.url);
    await busy.connect();
    const other = await created(store);
    const id = [keyHash(other)];

    // One connection, which waits for a row that an open transaction has changed.
    const naive = new Pool({ connectionString: server.url, max: 1 });
    await busy.query('begin');
    await busy.query('update payonce_locks set ends_at = null where id = $1', id);
    const first = naive.query('update payonce_locks set ends_at = null where id = $1', id);
    const acquire = `update payonce_locks set lease_id = 'naive', ends_at = 'infinity' where id = $1`;
    const second = naive.query(acquire, [keyHash(key)]);
    await Promise.race([second, delay(200)]);
    expect(await store.look(key, never)).toMatchObject({ held: false });
    await busy.query('rollback');
    await Promise.all([first, second]);
    expect(await store.look(key, never)).toMatchObject({ held: true });
    await naive.end();

    const ours = open({ connections: 1 });
    const free = await created(store);
    await busy.query('begin');
    await busy.query('update payonce_locks set ends_at = null where id = $1', id);
    const waiting = ours.acquire(other, one, leaseMs, never);
    await expect(ours.acquire(free, one, leaseMs, AbortSignal.timeout(200))).rejects.toThrow(Error);
    await busy.query('rollback');
    expect(await waiting).toBe('acquired');
    await ours.renew(other, one, leaseMs, never);
    expect(await store.look(free, never)).toMatchObject({ held: false });
    await busy.end();
  });

  test('a row that an open transaction has changed holds up its own lock only, and no session for long', async () => {
    const impatient = open({}, 500);
    const [stuck, other] = [await created(store), await created(store)];
    const operator = new Client(server.url);
    await operator.connect();
    await operator.query('begin');
    await operator.query('update payonce_locks set ends_at = null where id = $1', [keyHash(stuck)]);
    const aborted = impatient.acquire(stuck, one, leaseMs, AbortSignal.timeout(200));
    await expect(aborted).rejects.toThrow('aborted');
    expect(await impatient.acquire(other, one, leaseMs, never)).toBe('acquired');
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'`;
    await expect.poll(() => server.run(waiting), { timeout: 10_000 }).toEqual([]);
    await operator.query('rollback');
    expect(await store.look(stuck, never)).toMatchObject({ held: false });
    await operator.end();
  });

  test('a crash forgets what was committed asynchronously; a lease and its fence are on disk', async () => {
    const key = await created(store);
    const { version } = (await store.look(key, never)) ?? { version: '' };
    await store.acquire(key, one, leaseMs, never);
    expect(await store.raise(key, one, record, version, never)).toBe('raised');
    await server.run('create table forgetful as select 7 as fence');
    await server.kill();
    await server.start();
    await expect(server.run('select fence from forgetful')).rejects.toThrow('does not exist');
    expect(await open().look(key, never)).toMatchObject({ held: true, record });
  });

  test('many that start at once create the table once', async () => {
    const table = 'many_at_once';
    const stores = Array.from({ length: 12 }, () => open({ table, connections: 1 }));
    const key = randomUUID();
    await Promise.all(stores.map((each) => each.create(key, never)));
    const answers = await Promise.all(stores.map((each) => each.acquire(key, randomUUID(), leaseMs, never)));
    expect(answers.filter((answer) => answer === 'acquired')).toHaveLength(1);
  });

  test('a database of another character set keeps any key and any owner', async () => {
    await server.run(`create database latin encoding 'LATIN1' locale 'C' template template0`);
    const latin = toClose(postgresLockStore(server.url.replace(/postgres$/, 'latin')));
    const key = '\u20ac\ud800\0';
    const { version } = await latin.create(key, never);
    await latin.acquire(key, one, leaseMs, never);
    const odd = { ...record, owner: { instance: '\u20ac', job: '\0' } };
    expect(await latin.raise(key, one, odd, version, never)).toBe('raised');
    expect(await latin.look(key, never)).toMatchObject({ held: true, record: odd });
  });

  test('a table name that is not plain is refused', () => {
    expect(() => postgresLockStore(server.url, { table: 'a"; drop table b' })).toThrow(RangeError);
  });
});

describeWith({ ...postgresPrograms, ...pgbouncerPrograms }, 'rows behind PgBouncer', async () => {
  const server = toClose(await startPostgres());
  const bouncer = toClose(await startPgbouncer(server.port));

  test('transaction pooling does rows no harm', async () => {
    const [a, b] = [toClose(postgresLockStore(bouncer.url)), toClose(postgresLockStore(bouncer.url))];
    const key = await created(a);
    expect(await a.acquire(key, one, leaseMs, never)).toBe('acquired');
    expect(await b.acquire(key, two, leaseMs, never)).toBe('held');
    expect(await a.renew(key, one, leaseMs, never)).toBe('renewed');
    expect(await b.release(key, two, never)).toBe('gone');
    expect(await a.release(key, one, never)).toBe('released');
    expect(await b.acquire(key, two, leaseMs, never)).toBe('acquired');
  });
});
