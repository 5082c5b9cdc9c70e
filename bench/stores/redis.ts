import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { redisScripts } from '../../src/locking/stores/redis/redisScripts.ts';
import { redisPrograms, startRedis } from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';

/** One Redis in memory. */
export const redis: BenchStoreKind = {
  name: 'redis',
  programs: redisPrograms,
  leaseMs: 6_000,
  async start() {
    const server = await startRedis();
    const client = createClient({ url: server.url });
    await client.connect();
    for (const { lua } of Object.values(redisScripts)) await client.scriptLoad(lua);
    return {
      port: server.port,
      address: (port) => ({ kind: 'redis', url: `redis://127.0.0.1:${port}` }),
      raw: {
        prepare: async (key) => void (await send(client, 'create', key, randomUUID())),
        async cycle(key) {
          const id = randomUUID();
          const version = versionIn(await send(client, 'look', key));
          await send(client, 'acquire', key, id, '6000');
          await send(client, 'raise', key, id, version, record, randomUUID());
          await send(client, 'release', key, id);
        },
      },
      async [Symbol.asyncDispose]() {
        client.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** What a holder leaves. */
export const record = JSON.stringify({
  fence: 1,
  owner: { instance: 'bench', job: 'bench' },
  since: 1,
  leaseMs: 6_000,
});

/** Sends one of the store's own scripts, on the bare client. */
export function send(
  client: Pick<ReturnType<typeof createClient>, 'evalSha'>,
  script: keyof typeof redisScripts,
  key: string,
  ...args: string[]
): Promise<unknown> {
  return client.evalSha(redisScripts[script].sha, { keys: [`{${key}}`, `{${key}}:lease`], arguments: args });
}

export function versionIn(found: unknown): string {
  return Array.isArray(found) ? String(found[0]) : '';
}
