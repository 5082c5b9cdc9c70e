import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { redisScripts } from '../../packages/lock-stores/src/redis/redisScripts.ts';
import {
  type RedisServerProcess,
  redisPrograms,
  startRedis,
  survivesKill,
} from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';
import { fenceIn, recordWith } from './holderRecord.ts';

const leaseMs = 6_000;
const behindFence = recordWith(1, leaseMs).slice('{"fence":1'.length);

/**
 * One Redis in memory. The bare client sends the store's own scripts. By default it gives each command 5 s, as ours gives each
 * request its own limit; its limits cost more, since it never clears them.
 */
export const redis: BenchStoreKind = {
  name: 'redis',
  programs: redisPrograms,
  leaseMs,
  async start({ durable } = { durable: false }) {
    const server = await (durable ? startRedis(survivesKill) : startRedis());
    const client = createClient({ url: server.url }).on('error', () => {});
    await client.connect();
    for (const { lua } of Object.values(redisScripts)) await client.scriptLoad(lua);
    return {
      ports: [server.port],
      address: (at) => ({ kind: 'redis', url: `redis://127.0.0.1:${at(server.port)}` }),
      restart: () => startAnew(server),
      async endSessions() {
        const admin = await createClient({ url: server.url }).connect();
        await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
        admin.destroy();
      },
      loseData: () => startAnew(server),
      raw: {
        prepare: async (key) => void (await send(client, 'create', key, randomUUID())),
        async cycle(key) {
          const id = randomUUID();
          await send(client, 'take', key, id, String(leaseMs), '', '0', '0', behindFence);
          await send(client, 'release', key, id, 'wake:');
        },
      },
      async [Symbol.asyncDispose]() {
        client.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** A client of node-redis that can run scripts. */
type Client = Pick<ReturnType<typeof createClient>, 'evalSha'>;

/** Sends one of the store's own scripts, on the bare client. */
export function send(
  client: Client,
  script: keyof typeof redisScripts,
  key: string,
  ...args: string[]
): Promise<unknown> {
  const record = `payonce:locks:{${key}}`;
  return client.evalSha(redisScripts[script].sha, { keys: [record, `${record}:lease`], arguments: args });
}

/** Reads what the next holder needs to know of a lock. */
export async function look(client: Client, key: string): Promise<{ version: string; fence: number }> {
  const found = await send(client, 'look', key);
  const [version, record] = Array.isArray(found) ? found.map(String) : [];
  return { version: version ?? '', fence: fenceIn(record) };
}

/** Ends a server at once, and starts it on what it has kept. */
export async function startAnew(server: Pick<RedisServerProcess, 'kill' | 'start'>): Promise<void> {
  await server.kill();
  await server.start();
}
