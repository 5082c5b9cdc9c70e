/** Uses each service with a credential, as on Azure, and prints what came of it. Its environment names the services. */
import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';

const { COSMOS_ENDPOINT = '', SERVICE_BUS_NAMESPACE = '', BLOB_ENDPOINT = '', STORAGE = '' } = process.env;
const now = Math.floor(Date.now() / 1000);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = {
  aud: 'https://storage.azure.com',
  iss: 'https://sts.windows.net/tenant/',
  iat: now,
  nbf: now,
};
const token = [part({ alg: 'RS256' }), part({ ...claims, exp: now + 3_600 }), 'unsigned'].join('.');
const credential = { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) };

const cosmos = new CosmosClient({ endpoint: COSMOS_ENDPOINT, aadCredentials: credential });
const { database } = await cosmos.databases.createIfNotExists({ id: 'shop' });
const { container } = await database.containers.createIfNotExists({ id: 'orders', partitionKey: '/id' });
await container.items.upsert({ id: '1' });
console.log('cosmos', (await container.items.readAll().fetchAll()).resources.length);
cosmos.dispose();

const bus = new ServiceBusClient(SERVICE_BUS_NAMESPACE, credential);
await bus.createSender('orders').sendMessages({ body: 'over TLS' });
const receiver = bus.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
console.log('serviceBus', (await receiver.receiveMessages(1, { maxWaitTimeInMs: 5_000 }))[0]?.body);
await bus.close();

const blobs = new BlobServiceClient(BLOB_ENDPOINT, credential).getContainerClient('images');
await blobs.createIfNotExists();
console.log('blobs', await blobs.exists());

const queue = QueueServiceClient.fromConnectionString(STORAGE).getQueueClient('on-queue');
await queue.createIfNotExists();
await queue.sendMessage(Buffer.from('{"n":1}').toString('base64'));
