import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { redisPrograms, startRedis } from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';

const databases = [0, 1, 2];

const raise = `
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('HSET', KEYS[1], 'fence', ARGV[2], 'owner', ARGV[3]) end
`;
const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`;

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
    const [raiseSha = '', releaseSha = ''] = await Promise.all(
      [raise, release].map(async (script) => (await each((client) => client.scriptLoad(script)))[0]),
    );
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
        prepare: async () => {},
        async cycle(key) {
          const [record, lease, id] = [`{${key}}`, `{${key}}:lease`, randomUUID()];
          await each((client) => client.hGet(record, 'fence'));
          await each((client) =>
            client.set(lease, id, { condition: 'NX', expiration: { type: 'PX', value: 6_000 } }),
          );
          const fences = await each((client) => client.hGet(record, 'fence'));
          const fence = String(Math.max(...fences.map(Number)) + 1);
          await each((client) =>
            client.evalSha(raiseSha, { keys: [record, lease], arguments: [id, fence, 'bench'] }),
          );
          await each((client) => client.evalSha(releaseSha, { keys: [lease], arguments: [id] }));
        },
      },
      async [Symbol.asyncDispose]() {
        for (const client of clients) client.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
