import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { clientOf, cosmosForFile, local, newContainer } from './openContainer.ts';

const cosmos = await cosmosForFile();

test('each data-plane request counts once, by container and operation; metadata counts separately', async () => {
  const container = await newContainer(cosmos);
  await local(cosmos, 'DELETE', 'stats');
  await container.items.create({ id: 'a', pk: 'p' });
  await container.items.create({ id: 'a', pk: 'p' }).catch(() => undefined);
  await container.item('a', 'p').read();
  await container.items.batch(
    ['b', 'c'].map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' } })),
    'p',
  );
  await container.items.query('SELECT * FROM c', { maxItemCount: 2 }).fetchAll();
  await container.read();
  const { body } = await local(cosmos, 'GET', 'stats');
  const counts = { requests: 6, reads: 3, writes: 3 };
  expect(body).toEqual({
    ...counts,
    requestUnits: { items: expect.closeTo(22.3, 0) },
    byContainer: { items: { ...counts, operations: { create: 2, read: 1, batch: 1, query: 2 } } },
    metadata: { requests: 2, operations: { queryPlan: 1, readContainer: 1 } },
  });
  await local(cosmos, 'DELETE', 'stats');
  expect((await local(cosmos, 'GET', 'stats')).body).toMatchObject({ requests: 0, byContainer: {} });
});

test('a proxy in front stays in front: addresses in answers follow the Host header', async () => {
  let seen = 0;
  const proxy = createServer((incoming, outgoing) => {
    seen += 1;
    const { method = 'GET', headers, url = '/' } = incoming;
    const forward = send({ host: '127.0.0.1', port: cosmos.port, method, headers, path: url }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(forward);
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  const container = await newContainer(cosmos);
  const connectionString = `AccountEndpoint=http://127.0.0.1:${port}/;AccountKey=${cosmos.key}`;
  const proxied = clientOf({ connectionString }).database(container.database.id).container(container.id);
  await local(cosmos, 'DELETE', 'stats');
  await proxied.items.create({ id: 'a', pk: 'p' });
  await proxied.item('a', 'p').read();
  const { requests, metadata } = (await local(cosmos, 'GET', 'stats')).body as {
    requests: number;
    metadata: { requests: number };
  };
  expect(requests).toBe(2);
  expect(seen).toBe(requests + metadata.requests);
});
