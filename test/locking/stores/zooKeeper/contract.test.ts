import { afterAll } from 'vitest';
import { nodesOf } from '../../../../src/locking/stores/zooKeeper/lockNodes.ts';
import { connectToZooKeeper } from '../../../../src/locking/stores/zooKeeper/zooKeeperConnection.ts';
import { multi, remove } from '../../../../src/locking/stores/zooKeeper/zooKeeperRequests.ts';
import { zooKeeperLockStore } from '../../../../src/locking/stores/zooKeeperLockStore.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { lockStoreContract } from '../../../../src/testing/locks/lockStoreContract.ts';
import { resettable } from '../../../support/resettable.ts';
import { describeWith } from '../../../support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../support/servers/zooKeeper.ts';
import { noSignals } from '../../../support/signals.ts';
import { contractHolders } from '../../../support/startLockHolder.ts';

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
