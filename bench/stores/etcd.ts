import { randomInt, randomUUID } from 'node:crypto';
import { etcdPrograms, startEtcd } from '../../test/support/servers/etcd.ts';
import type { BenchStoreKind } from './benchStore.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Found {
  responses: { response_range: { kvs?: { value?: string; mod_revision: string; lease?: string }[] } }[];
}

/** A single etcd, without a majority to wait for. */
export const etcd: BenchStoreKind = {
  name: 'etcd',
  programs: etcdPrograms,
  leaseMs: 5_000,
  async start() {
    const server = await startEtcd();

    async function ask(path: string, body: unknown): Promise<unknown> {
      const response = await fetch(`${server.address}/v3/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(await response.text());
      return response.json();
    }

    return {
      ports: [server.port],
      address: (at) => ({ kind: 'etcd', endpoints: `http://127.0.0.1:${at(server.port)}` }),
      async restart() {
        await server.kill();
        await server.start();
      },
      raw: {
        prepare: async (key) => void (await ask('kv/put', { key: base64(key), value: base64('0') })),
        async cycle(key) {
          const [record, lease] = [base64(key), base64(`${key}/lease`)];
          const ID = String(randomInt(2 ** 47));
          const value = base64(randomUUID());
          const gets = [{ request_range: { key: record } }, { request_range: { key: lease } }];
          const { responses } = (await ask('kv/txn', { success: gets })) as Found;
          const found = responses[0]?.response_range.kvs?.[0];
          const fence = Number(Buffer.from(found?.value ?? '', 'base64')) + 1;
          await ask('lease/grant', { ID, TTL: '5' });
          await ask('kv/txn', {
            compare: [
              { target: 'MOD', result: 'EQUAL', key: lease, mod_revision: '0' },
              { target: 'MOD', result: 'EQUAL', key: record, mod_revision: found?.mod_revision },
            ],
            success: [
              { request_put: { key: lease, value, lease: ID } },
              { request_put: { key: record, value: base64(String(fence)) } },
            ],
          });
          await ask('lease/revoke', { ID });
        },
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
