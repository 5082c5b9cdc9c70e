import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { afterAll, describe } from 'vitest';
import { startServiceBus } from '../../../../local/serviceBus/index.ts';
import { serviceBusLockStore } from '../../../../src/locking/stores/serviceBusLockStore.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { loseSession, queuesFile } from '../../../support/lockSessions.ts';
import { removeFolder } from '../../../support/removeFolder.ts';

const leaseMs = 4_000;
const folder = await mkdtemp(join(tmpdir(), 'service-bus-leaders-'));
const config = await queuesFile(folder, { leaders: { RequiresSession: true, LockDuration: 'PT4S' } });
const bus = await startServiceBus({ config });
const connect = (options: object) => new ServiceBusClient(bus.connectionString, options);

describe('leaders on Service Bus', { timeout: 60_000 }, () => {
  leaderContract({
    open: async () => serviceBusLockStore(connect, 'leaders', { lockDurationMs: leaseMs }),
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: (key) => loseSession(bus, key),
  });
});

afterAll(async () => {
  await bus.stop();
  await removeFolder(folder);
});
