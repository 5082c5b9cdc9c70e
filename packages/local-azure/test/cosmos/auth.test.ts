import { randomBytes } from 'node:crypto';
import { CosmosClient } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { emulatorKey } from '../../src/cosmos/index.ts';
import { clientOf, cosmosForFile, newContainer, refusalOf, sendSigned } from './openContainer.ts';

const cosmos = await cosmosForFile();

test('the default key is the emulators’ well-known key', () => {
  expect(cosmos.connectionString).toBe(
    `AccountEndpoint=http://127.0.0.1:${cosmos.port}/;AccountKey=${emulatorKey};`,
  );
});

test('a wrong key is 401, for metadata and for items', async () => {
  const { database } = await newContainer(cosmos);
  const client = new CosmosClient({ endpoint: cosmos.endpoint, key: randomBytes(64).toString('base64') });
  const refusal = await refusalOf(client.databases.readAll().fetchAll());
  expect(refusal).toMatchObject({ code: 401 });
  expect(refusal.message).toContain("The input authorization token can't serve the request.");
  expect(
    await refusalOf(client.database(database.id).container('items').item('a', 'p').read()),
  ).toMatchObject({
    code: 401,
  });
});

test('a custom key replaces the default one', async () => {
  const key = randomBytes(64).toString('base64');
  const locked = await cosmosForFile({ key });
  expect((await clientOf(locked).databases.createIfNotExists({ id: 'db' })).statusCode).toBe(201);
  const stranger = new CosmosClient({ endpoint: locked.endpoint, key: emulatorKey });
  expect(await refusalOf(stranger.databases.readAll().fetchAll())).toMatchObject({ code: 401 });
});

test.each([
  ['no token', {}, 401],
  ['a malformed token', { authorization: 'open sesame', 'x-ms-date': new Date().toUTCString() }, 401],
  ['a token without a date', { authorization: encodeURIComponent('type=master&ver=1.0&sig=AAAA') }, 401],
  ['a resource token', { authorization: encodeURIComponent('type=resource&ver=1.0&sig=x') }, 501],
])('%s is refused', async (_what, headers, status) => {
  expect((await fetch(`${cosmos.endpoint}dbs`, { headers })).status).toBe(status);
});

test('an Entra ID token is taken unchecked', async () => {
  const headers = { authorization: encodeURIComponent('type=aad&ver=1.0&sig=x') };
  expect((await fetch(`${cosmos.endpoint}dbs`, { headers })).status).toBe(200);
});

test('a request dated 20 minutes ago is 403', async () => {
  const dated = (minutesAgo: number) =>
    sendSigned(cosmos, 'GET', {
      type: 'dbs',
      link: '',
      path: 'dbs',
      date: new Date(Date.now() - minutesAgo * 60_000),
    });
  expect((await dated(20)).status).toBe(403);
  expect((await dated(10)).status).toBe(200);
});
