import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { redisScripts } from '../../src/locking/stores/redis/redisScripts.ts';
import { redisPrograms, startRedis } from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';
import { record, send, versionIn } from './redis.ts';

const databases = [0, 1, 2];

/** Three stores that are databases of one Redis: it costs what three servers do, and one proxy cuts off all of them. */
export const quorum: BenchStoreKind = {
  name: 'quorum of three (redis)',
  programs: redisPrograms,
  leaseMs: 6_000,
  async start() {
    const server = await startRedis();
    const clients = await Promise.all(
      databases.map((database) => createClient({ url: server.url, database }).connect()),
    );
    const each = <T>(ask: (client: (typeof clients)[number]) => Promise<T>) => Promise.all(clients.map(ask));
    for (const { lua } of Object.values(redisScripts)) await each((client) => client.scriptLoad(lua));
    return {
      port: server.port,
      address: (port) => ({
        kind: 'quorum',
        stores: databases.map((database) => ({
          kind: 'redis',
          url: `redis://127.0.0.1:${port}/${database}`,
        })),
        memberMs: 500,
      }),
      raw: {
        prepare: async (key) => void (await each((client) => send(client, 'create', key, randomUUID()))),
        async cycle(key) {
          const id = randomUUID();
          await each((client) => send(client, 'look', key));
          await each((client) => send(client, 'acquire', key, id, '6000'));
          await each(async (client) => {
            const version = versionIn(await send(client, 'look', key));
            await send(client, 'raise', key, id, version, record, randomUUID());
          });
          await each((client) => send(client, 'release', key, id));
        },
      },
      async [Symbol.asyncDispose]() {
        for (const client of clients) client.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
