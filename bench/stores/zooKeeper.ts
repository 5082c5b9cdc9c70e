import {
  connectToZooKeeper,
  type ZooKeeperConnection,
} from '../../packages/lock-stores/src/zooKeeper/zooKeeperConnection.ts';
import {
  closeSession,
  createNode,
  existsNode,
  getData,
  multi,
  setData,
  sync,
} from '../../packages/lock-stores/src/zooKeeper/zooKeeperRequests.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../test/support/servers/zooKeeper.ts';
import type { BenchStoreKind } from './benchStore.ts';

const tickMs = 1_000;
const leaseMs = 5_000;
const never = new AbortController().signal;

/** A single ZooKeeper server, without a majority to wait for. The bare client is our own: there is no other. */
export const zooKeeper: BenchStoreKind = {
  name: 'ZooKeeper',
  programs: zooKeeperPrograms,
  leaseMs,
  async start() {
    const server = await startZooKeeper(tickMs);

    async function connect(timeoutMs: number, pings: boolean): Promise<ZooKeeperConnection> {
      const at = { host: '127.0.0.1', port: server.port };
      const connection = await connectToZooKeeper(at, { timeoutMs, pings }, never);
      if (connection === 'expired') throw new Error('a new session has ended');
      return connection;
    }

    const shared = await connect(10_000, true);
    const nodesOf = (key: string) => ({ lock: `/${key}`, tenure: `/${key}/tenure`, lease: `/${key}/lease` });
    return {
      ports: [server.port],
      address: (at) => ({ kind: 'zooKeeper', connectString: `127.0.0.1:${at(server.port)}`, tickMs }),
      async restart() {
        await server.kill();
        await server.start();
      },
      raw: {
        async prepare(key) {
          const { lock, tenure } = nodesOf(key);
          await shared.send(
            multi([createNode(lock, '0', 'for ever'), createNode(tenure, '', 'for ever')]),
            never,
          );
        },
        async cycle(key) {
          const { lock, tenure, lease } = nodesOf(key);
          const [, found] = await Promise.all([
            shared.send(sync(lock), never),
            shared.send(getData(lock), never),
            shared.send(existsNode(lease), never),
          ]);
          const session = await connect(leaseMs, false);
          const record = JSON.stringify({ fence: Number(found?.stat.version) + 1, leaseMs });
          const take = [
            createNode(lease, 'bench', 'with the session'),
            setData(tenure, 'bench'),
            setData(lock, record, found?.stat.version),
          ];
          const taken = await session.send(multi(take), never);
          if (taken.kind === 'refused') throw new Error(`refused: ${taken.code}`);
          await Promise.all([session.send(existsNode(lease), never), session.send(closeSession, never)]);
          session.destroy();
        },
      },
      async [Symbol.asyncDispose]() {
        shared.destroy();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
