import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { provisionCosmos } from '../../../../local/provision.ts';
import { lockContainer } from '../../../../test/support/lockContainer.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { type Cosmos, startCosmos } from '../../../local-azure/src/cosmos/index.ts';
import { lockPartition } from '../../src/cosmos/cosmosLockItems.ts';
import { cosmosLockStore } from '../../src/cosmos/cosmosLockStore.ts';

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
