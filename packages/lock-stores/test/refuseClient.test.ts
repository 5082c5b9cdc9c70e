import mysql from 'mysql2';
import { Client, Pool } from 'pg';
import { createClient, createCluster } from 'redis';
import { expect, test } from 'vitest';
import { mysqlLockStore } from '../src/mysql/mysqlLockStore.ts';
import { postgresAdvisoryLockStore } from '../src/postgres/postgresAdvisoryLockStore.ts';
import { postgresLockStore } from '../src/postgres/postgresLockStore.ts';
import { redisLockStore } from '../src/redis/redisLockStore.ts';

const stores: Record<string, (address: object) => unknown> = {
  redisLockStore,
  postgresLockStore,
  postgresAdvisoryLockStore,
  mysqlLockStore,
};

// Plain JavaScript passes what the types refuse. None of these connects before it is used.
test.each<[string, object]>([
  ['redisLockStore', createClient({ url: 'redis://10.1.2.3:5555' })],
  ['redisLockStore', createCluster({ rootNodes: [{ url: 'redis://10.1.2.3:5555' }] })],
  ['postgresLockStore', new Pool({ host: '10.1.2.3' })],
  ['postgresAdvisoryLockStore', new Client({ host: '10.1.2.3' })],
  ['mysqlLockStore', mysql.createPool({ host: '10.1.2.3' })],
])('%s refuses a client or a pool instead of asking localhost', (name, client) => {
  expect(() => stores[name]?.(client)).toThrow(TypeError);
});

test.each<[string, object]>([
  [
    'redisLockStore',
    { url: 'redis://10.1.2.3', credentialsProvider: { type: 'async-credentials-provider' } },
  ],
  ['postgresLockStore', { host: '10.1.2.3', password: () => 'token' }],
  ['mysqlLockStore', { host: '10.1.2.3', password: () => 'token' }],
])('%s takes options', (name, options) => {
  expect(stores[name]?.(options)).toBeDefined();
});
