import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { redisScripts } from '../../packages/lock-stores/src/redis/redisScripts.ts';
import { redisPrograms, startRedis, survivesKill } from '../../test/support/servers/redis.ts';
import type { BenchStoreKind } from './benchStore.ts';
import { recordWith } from './holderRecord.ts';
import { look, send, startAnew } from './redis.ts';

const leaseMs = 6_000;
const members = 3;

/**
 * Three Redis servers in memory. The bare client asks the three at once and goes on with the first two answers, as ours does:
 * 12 scripts a cycle.
 */
export const quorum: BenchStoreKind = {
  name: 'quorum of three (redis)',
  programs: redisPrograms,
  leaseMs,
  async start({ durable } = { durable: false }) {
    const open = () => (durable ? startRedis(survivesKill) : startRedis());
    const servers = await Promise.all(Array.from({ length: members }, open));
    const clients = await Promise.all(
      servers.map(({ url }) =>
        createClient({ url })
          .on('error', () => {})
          .connect(),
      ),
    );
    const each = <T>(ask: (client: (typeof clients)[number]) => Promise<T>) => Promise.all(clients.map(ask));
    for (const { lua } of Object.values(redisScripts)) await each((client) => client.scriptLoad(lua));
    return {
      ports: servers.map(({ port }) => port),
      address: (at) => ({
        kind: 'quorum',
        stores: servers.map(({ port }) => ({ kind: 'redis', url: `redis://127.0.0.1:${at(port)}` })),
        memberMs: 500,
      }),
      restart: async () => void (await Promise.all(servers.map(startAnew))),
      // Two of three, or all.
      loseData: async (time) => void (await Promise.all(servers.slice(time % 2).map(startAnew))),
      raw: {
        prepare: async (key) => void (await each((client) => send(client, 'create', key, randomUUID()))),
        async cycle(key) {
          const id = randomUUID();
          const looks = clients.map((client) => look(client, key));
          const fence = Math.max(...(await majority(looks)).map((seen) => seen.fence)) + 1;
          await majority(clients.map((client) => send(client, 'acquire', key, id, String(leaseMs))));
          const record = recordWith(fence, leaseMs);
          await majority(
            clients.map(async (client, member) => {
              const { version = '' } = (await looks[member]) ?? {};
              await send(client, 'raise', key, id, version, record, randomUUID());
            }),
          );
          await majority(clients.map((client) => send(client, 'release', key, id, 'wake:')));
        },
      },
      async [Symbol.asyncDispose]() {
        for (const client of clients) client.destroy();
        await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      },
    };
  },
};

/** The first two answers of three: nobody waits for the last. */
function majority<T>(asked: readonly Promise<T>[]): Promise<T[]> {
  return new Promise((resolve, reject) => {
    const answers: T[] = [];
    for (const one of asked) {
      one.then((answer) => {
        answers.push(answer);
        if (answers.length === 2) resolve([...answers]);
      }, reject);
    }
  });
}
