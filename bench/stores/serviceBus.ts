import { ServiceBusClient } from '@azure/service-bus';
import { startServiceBusProcess } from '../../test/support/servers/serviceBus.ts';
import type { BenchStoreKind } from './benchStore.ts';

const queue = 'locks';
const leaseMs = 6_000;

/** The Service Bus stand-in, on disk. */
export const serviceBus: BenchStoreKind = {
  name: 'serviceBus',
  programs: {},
  leaseMs,
  async start() {
    const server = await startServiceBusProcess({ [queue]: { RequiresSession: true, LockDuration: 'PT6S' } });
    const { connectionString, port } = server;
    const client = new ServiceBusClient(connectionString);
    return {
      ports: [port],
      address: (at) => ({
        kind: 'serviceBus',
        connectionString: connectionString.replace(`:${port};`, `:${at(port)};`),
        queue,
        lockDurationMs: leaseMs,
      }),
      async restart() {
        await server.kill();
        await server.start();
      },
      raw: {
        prepare: async () => {},
        async cycle(key) {
          const session = await client.acceptSession(queue, key, { maxAutoLockRenewalDurationInMs: 0 });
          const state: unknown = await session.getSessionState();
          const last =
            typeof state === 'object' && state !== null && 'fence' in state ? Number(state.fence) : 0;
          await session.setSessionState({ fence: last + 1, owner: 'bench' });
          await session.close();
        },
      },
      async [Symbol.asyncDispose]() {
        await client.close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
