import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { type Cosmos, startCosmos } from '../../../../local/cosmos/index.ts';
import { provisionCosmos } from '../../../../local/provision.ts';
import { lockPartition } from '../../../../src/locking/stores/cosmosLockItems.ts';
import { cosmosLockStore } from '../../../../src/locking/stores/cosmosLockStore.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { lockStoreContract } from '../../../../src/testing/locks/lockStoreContract.ts';
import { lockContainer } from '../../../support/lockContainer.ts';
import { removeFolder } from '../../../support/removeFolder.ts';
import { noSignals } from '../../../support/signals.ts';
import { contractHolders } from '../../../support/startLockHolder.ts';
import { startTcpProxy } from '../../../support/tcpProxy.ts';

const leaseMs = 4_000;
const data = await mkdtemp(join(tmpdir(), 'cosmos-locks-'));
let cosmos: Cosmos = await startCosmos({ data });
const { connectionString, endpoint, port } = cosmos;
await provisionCosmos(connectionString);
const container = lockContainer(connectionString);
const holders = contractHolders({ kind: 'cosmos', connectionString }, leaseMs);

describe('Cosmos items with a TTL', { timeout: 60_000 }, () => {
  lockStoreContract({
    store: cosmosLockStore(container),
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: async (key) => {
      await container.item('lease', lockPartition(key)).delete();
    },
    destroy: async (key) => {
      for (const id of ['record', 'lease']) await container.item(id, lockPartition(key)).delete();
    },
    startHolder: holders.startHolder,
    async withSilentServer(work) {
      await using proxy = await startTcpProxy({ port });
      const behind = connectionString.replace(endpoint, `http://127.0.0.1:${proxy.port}/`);
      const client = lockContainer(behind);
      await client.read();
      proxy.fault({ kind: 'hold' });
      await work(cosmosLockStore(client));
      client.database.client.dispose();
    },
    async restart() {
      await cosmos.stop();
      cosmos = await startCosmos({ data, port });
    },
    another: async () => cosmosLockStore(lockContainer(connectionString)),
  });
});

afterAll(async () => {
  await holders[Symbol.asyncDispose]();
  await cosmos.stop();
  await removeFolder(data);
});
