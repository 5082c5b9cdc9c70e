import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { startCosmos } from '../../src/cosmos/index.ts';
import { clientOf } from './openContainer.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'cosmos-'));
  onTestFinished(() => removeFolder(path));
  return path;
}

const containerOf = (cosmos: { connectionString: string }) =>
  clientOf(cosmos).database('db').container('items');

async function createContainer(cosmos: { connectionString: string }) {
  const { database } = await clientOf(cosmos).databases.create({ id: 'db' });
  const definition = { id: 'items', partitionKey: { paths: ['/pk'] }, defaultTtl: -1 };
  return (await database.containers.create(definition)).container;
}

test('definitions, items and change feed positions survive a restart', async () => {
  const data = folder();
  const first = await startCosmos({ data });
  const before = await createContainer(first);
  for (const id of ['a', 'b', 'latest']) await before.items.create({ id, pk: 'p' });
  const feed = before.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  const { continuationToken } = await feed.readNext();
  // Without its latest item the table no longer shows how far the sequence has advanced.
  await before.item('latest', 'p').delete();
  const { resource: definition } = await before.read();
  const { resource: item } = await before.item('a', 'p').read();
  await first.stop();

  await using second = await startCosmos({ data });
  const after = containerOf(second);
  expect((await after.read()).resource).toEqual(definition);
  expect((await after.item('a', 'p').read()).resource).toEqual(item);
  expect((await after.item('latest', 'p').read()).statusCode).toBe(404);
  const { resource: created } = await after.items.create({ id: 'c', pk: 'p' });
  expect(created?._etag).not.toBe(item?._etag);
  const resumed = after.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
  });
  expect((await resumed.readNext()).result).toMatchObject([{ id: 'c' }]);
});

test('a session token from before a data loss is 404 with sub-status 1002', async () => {
  await using cosmos = await startCosmos();
  const container = await createContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  const { connectionString } = cosmos;
  // With endpoint discovery enabled, the SDK drops the token and retries.
  const client = new CosmosClient({ connectionString, connectionPolicy: { enableEndpointDiscovery: false } });
  const item = client.database('db').container('items').item('a', 'p');
  const ahead = await item.read({ sessionToken: '0:-1#999999' });
  expect([ahead.statusCode, ahead.substatus]).toEqual([404, 1002]);
  const current = await item.read({ sessionToken: '0:-1#1' });
  expect(current.statusCode).toBe(200);
});

test.each(['SIGTERM', 'SIGKILL'] as const)('acknowledged writes survive %s', async (signal) => {
  const data = folder();
  const main = join(import.meta.dirname, '../../src/cosmos/main.ts');
  const child = spawn(process.execPath, [main, '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString();
    if (output.includes('ready')) break;
  }
  const container = await createContainer({ connectionString: /^Cosmos=(.*)$/m.exec(output)?.[1] ?? '' });
  const answered: string[] = [];
  const ended = once(child, 'exit');
  for (let i = 0; ; i++) {
    const id = `i${i}`;
    const operations = [id, `${id}-twin`].map((each) => ({
      operationType: 'Create' as const,
      resourceBody: { id: each, pk: 'p' },
    }));
    const answer = await container.items.batch(operations, 'p').catch(() => undefined);
    if (answer === undefined) break;
    answered.push(id);
    if (i === 30) child.kill(signal);
  }
  const [code] = (await ended) as [number | null];
  expect(code).toBe(signal === 'SIGTERM' && !noSignals ? 0 : null);

  await using restarted = await startCosmos({ data });
  const { resources } = await containerOf(restarted)
    .items.query<string>('SELECT VALUE c.id FROM c', { partitionKey: 'p' })
    .fetchAll();
  expect(answered.length).toBeGreaterThan(30);
  expect(resources).toEqual(expect.arrayContaining(answered.flatMap((id) => [id, `${id}-twin`])));
  expect(resources.length % 2).toBe(0);
});
