import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { redisPrograms, startRedis } from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';

const raise = `
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('HSET', KEYS[1], 'fence', ARGV[2], 'owner', ARGV[3]) end
`;
const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`;

/** One Redis in memory. */
export const redis: BenchStoreKind = {
  name: 'redis',
  programs: redisPrograms,
  leaseMs: 6_000,
  async start() {
    const server = await startRedis();
    const client = createClient({ url: server.url });
    await client.connect();
    const [raiseSha, releaseSha] = [await client.scriptLoad(raise), await client.scriptLoad(release)];
    return {
      port: server.port,
      address: (port) => ({ kind: 'redis', url: `redis://127.0.0.1:${port}` }),
      raw: {
        prepare: async () => {},
        async cycle(key) {
          const [record, lease, id] = [`{${key}}`, `{${key}}:lease`, randomUUID()];
          const fence = Number(await client.hGet(record, 'fence')) + 1;
          await client.set(lease, id, { condition: 'NX', expiration: { type: 'PX', value: 6_000 } });
          await client.evalSha(raiseSha, { keys: [record, lease], arguments: [id, String(fence), 'bench'] });
          await client.evalSha(releaseSha, { keys: [lease], arguments: [id] });
        },
      },
      async [Symbol.asyncDispose]() {
        client.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
