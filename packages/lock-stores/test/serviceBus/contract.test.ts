import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { afterAll, describe } from 'vitest';
import { loseSession, queuesFile } from '../../../../test/support/lockSessions.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { resettable } from '../../../../test/support/resettable.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { never, one } from '../../../leases/src/testing/subject.ts';
import { type ServiceBus, startServiceBus } from '../../../local-azure/src/serviceBus/index.ts';
import { serviceBusLockStore } from '../../src/serviceBus/serviceBusLockStore.ts';

const leaseMs = 5_000;
const queue = 'locks';
const folder = await mkdtemp(join(tmpdir(), 'service-bus-locks-'));
const config = await queuesFile(folder, { [queue]: { RequiresSession: true, LockDuration: 'PT5S' } });
let bus: ServiceBus = await startServiceBus({ config, data: folder });
const { connectionString } = bus;
const port = Number(/:(\d+);/.exec(connectionString)?.[1]);

const open = (address: string) =>
  serviceBusLockStore((options) => new ServiceBusClient(address, options), queue, {
    lockDurationMs: leaseMs,
  });
const store = open(connectionString);
const holders = contractHolders(
  { kind: 'serviceBus', connectionString, queue, lockDurationMs: leaseMs },
  leaseMs,
);

describe('Service Bus sessions', { timeout: 60_000 }, () => {
  lockStoreContract({
    store,
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: (key) => loseSession(bus, key),
    startHolder: holders.startHolder,
    async withSilentServer(work) {
      await using proxy = await startTcpProxy({ port });
      await using silent = open(connectionString.replace(`:${port};`, `:${proxy.port};`));
      await silent.acquire('connected before', one, leaseMs, never);
      proxy.fault({ kind: 'hold' });
      await work(silent);
      proxy.fault({ kind: 'none' });
    },
    async restart() {
      await bus.stop();
      bus = await startServiceBus({ config, data: folder, port });
    },
    resettable: () => resettable(port, (at) => open(connectionString.replace(`:${port};`, `:${at};`))),
    another: async () => open(connectionString),
  });
});

afterAll(async () => {
  await holders[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await bus.stop();
  await removeFolder(folder);
});
