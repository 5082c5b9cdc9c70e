import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { postgresAdvisoryLockStore } from '../../packages/lock-stores/src/postgres/postgresAdvisoryLockStore.ts';
import { postgresLockStore } from '../../packages/lock-stores/src/postgres/postgresLockStore.ts';
import { startPostgres } from '../../test/support/servers/postgres.ts';
import { ourPeers } from './ourPeer.ts';
import type { Peer, Peers } from './peers.ts';

/** A PostgreSQL that writes to disk with each commit, as it does by default. */
export async function postgresPeers(): Promise<Peers> {
  const server = await startPostgres({ max_connections: '300', fsync: 'on' });
  const { url } = server;
  await server.run('create table shedlock (name text primary key, until timestamptz not null, by text)');

  async function connected(): Promise<Client> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client;
  }

  /** The statements of ShedLock's provider for PostgreSQL. It renews only if asked, and does not wait: this polls every 10 ms. */
  const shedLock: Peer = {
    name: "ShedLock's two statements",
    async open() {
      const client = await connected();
      const take = `insert into shedlock (name, until, by) values ($1, now() + interval '30 s', $2)
        on conflict (name) do update set until = now() + interval '30 s', by = $2 where shedlock.until <= now()`;
      return {
        async acquire(key) {
          for (;;) {
            const { rowCount } = await client.query({ name: 'take', text: take, values: [key, 'bench'] });
            if (rowCount === 1) break;
            await delay(10);
          }
          const text = `update shedlock set until = now() where name = $1`;
          return () => client.query({ name: 'release', text, values: [key] });
        },
        [Symbol.asyncDispose]: () => client.end(),
      };
    },
  };

  /** Nothing to renew: the session keeps it. The holder is not told of a loss. */
  const advisory: Peer = {
    name: '`pg_advisory_lock` itself',
    async open() {
      const client = await connected();
      const run = (name: string, key: string) =>
        client.query({ name, text: `select ${name}(hashtext($1))`, values: [key] });
      return {
        async acquire(key) {
          await run('pg_advisory_lock', key);
          return () => run('pg_advisory_unlock', key);
        },
        [Symbol.asyncDispose]: () => client.end(),
      };
    },
  };

  const named = (name: string, peers: Peer[]) =>
    peers.map((peer) => ({ ...peer, name: peer.name.replace('@payonce', `@payonce ${name}`) }));
  return {
    peers: [
      ...named(
        'rows',
        ourPeers(() => postgresLockStore(url)),
      ),
      ...named(
        'advisory',
        ourPeers(() => postgresAdvisoryLockStore(url)),
      ),
      shedLock,
      advisory,
    ],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
