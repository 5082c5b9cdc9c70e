import { expect, test } from 'vitest';
import { loadLockStore } from '../src/lockStores.ts';
import { azureClients } from '../src/platform/azureClients.ts';
import { blobContainers } from '../src/platform/azureNames.ts';
import { readSettings } from '../src/settings/readSettings.ts';

const cosmosKey = Buffer.from('key').toString('base64');
const env = {
  AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  Cosmos: `AccountEndpoint=http://127.0.0.1:1/;AccountKey=${cosmosKey}`,
  ServiceBus: 'Endpoint=sb://127.0.0.1;SharedAccessKeyName=n;SharedAccessKey=k;UseDevelopmentEmulator=true',
  STRIPE_SECRET_KEY: ['sk', 'test', 'x'].join('_'),
};

test.each([
  ['blob', 'id', 60_000],
  ['cosmos', 'id', 3_600_000],
  ['service-bus', 'connection', 30_000],
  ['redis://127.0.0.1:1', 'id', 3_600_000],
  ['postgres://127.0.0.1:1/db', 'id', 3_600_000],
  ['postgres-advisory://127.0.0.1:1/db', 'connection', 3_600_000],
  ['mysql://127.0.0.1:1/db', 'id', 3_600_000],
  ['mariadb://127.0.0.1:1/db', 'id', 3_600_000],
  ['etcd://127.0.0.1:1,127.0.0.1:2', 'id', 3_600_000],
  ['etcds://user:p%40ss@127.0.0.1', 'id', 3_600_000],
  ['zookeeper://127.0.0.1:1', 'connection', 40_000],
  ['redis://127.0.0.1:1 redis://127.0.0.1:2 etcd://127.0.0.1:3', 'id', 3_600_000],
])('LOCKS=%s names a store, which connects only when it is asked', async (LOCKS, keptBy, maxMs) => {
  const settings = readSettings({ ...env, LOCKS });
  const clients = azureClients(settings);
  const open = await loadLockStore(settings.locks);
  const blobs = clients.blobs.getContainerClient(blobContainers.locks);
  await using store = open({ ...clients, blobs, container: clients.containers.locks });
  expect(store.traits).toMatchObject({ keptBy, lease: { maxMs } });
  await clients.close();
});
