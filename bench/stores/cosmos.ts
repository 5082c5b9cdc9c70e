import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { lockContainer } from '../../test/support/lockContainer.ts';
import { startCosmosProcess } from '../../test/support/servers/cosmos.ts';
import type { BenchStoreKind } from './benchStore.ts';

export const cosmos: BenchStoreKind = {
  name: 'cosmos',
  programs: {},
  leaseMs: 15_000,
  async start() {
    const server = await startCosmosProcess();
    const container = lockContainer(server.connectionString);
    const { connectionString } = server;
    const port = Number(/AccountEndpoint=http:\/\/[^:]+:(\d+)/.exec(connectionString)?.[1]);
    return {
      ports: [port],
      address: (at) => ({
        kind: 'cosmos',
        connectionString: connectionString.replace(`:${port}`, `:${at(port)}`),
      }),
      async restart() {
        await server.kill();
        await server.start();
      },
      raw: {
        async prepare(key) {
          await container.items.create({ id: 'record', lock: key, key, version: randomUUID() });
        },
        cycle: (key) => cycle(container, key),
      },
      async [Symbol.asyncDispose]() {
        container.database.client.dispose();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

const owner = { owner: { instance: 'bench', job: 'bench' }, since: 0, leaseMs: 15_000 };

/** Two reads, then three transactions. */
async function cycle(container: Container, key: string): Promise<void> {
  const leaseId = randomUUID();
  const item = (id: string) => container.item(id, key).read<{ id: string; version: string }>();
  const [{ resource }] = await Promise.all([item('record'), item('lease')]);
  const stillOurs: OperationInput = {
    operationType: 'Patch',
    id: 'lease',
    resourceBody: {
      condition: `from c where c.leaseId = "${leaseId}"`,
      operations: [{ op: 'set', path: '/leaseId', value: leaseId }],
    },
  };
  await container.items.batch(
    [
      { operationType: 'Read', id: 'record' },
      { operationType: 'Create', resourceBody: { id: 'lease', lock: key, key, leaseId, ttl: 16 } },
    ],
    key,
  );
  await container.items.batch(
    [
      {
        operationType: 'Patch',
        id: 'record',
        resourceBody: {
          condition: `from c where c.version = "${resource?.version}"`,
          operations: [
            { op: 'set', path: '/version', value: leaseId },
            { op: 'set', path: '/record', value: JSON.stringify({ fence: Date.now(), ...owner }) },
          ],
        },
      },
      { ...stillOurs },
    ],
    key,
  );
  await container.items.batch([{ ...stillOurs }, { operationType: 'Delete', id: 'lease' }], key);
}
