import { afterAll } from 'vitest';
import { resettable } from '../../../../test/support/resettable.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { nodesOf } from '../../src/zooKeeper/lockNodes.ts';
import { connectToZooKeeper } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';
import { multi, remove } from '../../src/zooKeeper/zooKeeperRequests.ts';

const leaseMs = 4_000;
const tickMs = 500;

describeWith(zooKeeperPrograms, 'ZooKeeper', async () => {
  const server = await startZooKeeper(tickMs);
  const connectString = server.address;
  const store = zooKeeperLockStore(connectString, { tickMs });
  const holders = contractHolders({ kind: 'zooKeeper', connectString, tickMs }, leaseMs);

  async function removeNodes(...paths: string[]): Promise<void> {
    const signal = AbortSignal.timeout(5_000);
    const at = { host: '127.0.0.1', port: server.port };
    const connection = await connectToZooKeeper(at, { timeoutMs: leaseMs }, signal);
    if (connection === 'expired') throw new Error('a new session has ended');
    const answer = await connection.send(multi(paths.map(remove)), signal);
    connection.destroy();
    if (answer.kind === 'refused') throw new Error(`refused: ${answer.code}`);
  }

  lockStoreContract({
    store,
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: (key) => removeNodes(nodesOf('/payonce/locks', key).lease),
    async destroy(key) {
      const { lease, tenure, lock } = nodesOf('/payonce/locks', key);
      await removeNodes(lease, tenure, lock);
    },
    startHolder: holders.startHolder,
    async withSilentServer(work) {
      await server.freeze();
      try {
        await work(store);
      } finally {
        server.thaw();
      }
    },
    async restart() {
      await server.kill();
      await server.start();
    },
    resettable: () => resettable(server.port, (port) => zooKeeperLockStore(`127.0.0.1:${port}`, { tickMs })),
    another: async () => zooKeeperLockStore(connectString, { tickMs }),
  });

  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
});
