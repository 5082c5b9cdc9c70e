import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { postgresPrograms, startPostgres } from '../../../../test/support/servers/postgres.ts';
import { createLocks } from '../../../leases/src/index.ts';
import {
  lockInTransaction,
  postgresLockStore,
  postgresLockTables,
} from '../../src/postgres/postgresLockStore.ts';

const owner = { instance: 'a', job: 'transaction' };

describeWith(postgresPrograms, 'a lock of PostgreSQL in a transaction of its caller', async () => {
  const server = await startPostgres();
  const client = new Client({ connectionString: server.url });
  const locks = createLocks(postgresLockStore(server.url));
  beforeAll(async () => {
    await client.connect();
    for (const statement of postgresLockTables()) await client.query(statement);
  });
  afterAll(async () => {
    await locks[Symbol.asyncDispose]();
    await client.end();
    await server[Symbol.asyncDispose]();
  });

  test.each(['commit', 'rollback'])('is held until its %s, and others find it held', async (end) => {
    const key = `until ${end}`;
    const before = await locks.acquire(key, owner, { waitMs: 0 });
    await before.release();
    await client.query('begin');
    const fence = Number(await lockInTransaction(client, key, owner));
    expect(fence).toBeGreaterThan(before.fence);
    expect(await locks.tryAcquire(key, owner)).toBeNull();
    const waiting = locks.acquire(key, owner, { waitMs: 20_000 });
    await client.query(end);
    const after = await waiting;
    expect(after.fence).toBeGreaterThan(end === 'commit' ? fence : before.fence);
    await after.release();
  });

  test('is null while a lease has it, or another transaction', async () => {
    const lease = await locks.acquire('taken', owner, { waitMs: 0 });
    await client.query('begin');
    expect(await lockInTransaction(client, 'taken', owner)).toBeNull();
    await lease.release();
    expect(await lockInTransaction(client, 'taken', owner)).toBeGreaterThan(lease.fence);
    const other = new Client({ connectionString: server.url });
    await other.connect();
    await other.query('begin');
    expect(await lockInTransaction(other, 'taken', owner)).toBeNull();
    await other.end();
    await client.query('commit');
  });

  test('is refused outside of a transaction', async () => {
    await expect(lockInTransaction(client, 'outside', owner)).rejects.toThrow('after `begin`');
    await (await locks.acquire('outside', owner, { waitMs: 5_000 })).release();
  });
});

test('the page for administrators has the statements that the store runs', () => {
  const page = readFileSync(new URL('../../docs/compared.md', import.meta.url), 'utf8');
  expect(page).toContain(`\`\`\`sql\n${postgresLockTables().join(';\n')};\n\`\`\``);
});
