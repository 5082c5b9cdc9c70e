import { fileURLToPath } from 'node:url';
import { CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { type Cosmos, startCosmos } from '../../src/cosmos/index.ts';

const app = fileURLToPath(new URL('fixtures/cosmosApp', import.meta.url));
let cosmos: Cosmos;
let client: CosmosClient;

beforeAll(async () => {
  cosmos = await startCosmos({ partitions: 3 });
  client = new CosmosClient(cosmos.connectionString);
  await client.databases.create({ id: 'shop' });
});
afterAll(async () => {
  client?.dispose();
  await cosmos?.stop();
});

async function newContainer(id: string) {
  const { container } = await client
    .database('shop')
    .containers.create({ id, partitionKey: { paths: ['/pk'] } });
  return {
    env: { Cosmos: cosmos.connectionString, CONTAINER: id },
    put: (...ids: string[]) => Promise.all(ids.map((each) => container.items.upsert({ id: each, pk: each }))),
  };
}

/** The ids that one of the functions has been given, in order. */
const seen = (which: 'SEEN' | 'NEW', ...hosts: HostProcess[]) =>
  hosts
    .flatMap(({ lines }) => lines)
    .flatMap((line) => new RegExp(`^${which} (.*)\\.$`).exec(line)?.[1]?.split(' ') ?? []);

const patiently = { timeout: 10_000 };
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('a function gets what changed in every range, in pages, from the beginning or from now', async () => {
  const { env, put } = await newContainer('all');
  const old = numbered('old', 12);
  await put(...old);
  // The feed counts in seconds, and begins with the one in which the host starts.
  const second = () => Math.floor(Date.now() / 1000);
  const written = second();
  await expect.poll(second, patiently).toBeGreaterThan(written);
  await using host = await startHostProcess({ app, env });
  await expect.poll(() => seen('SEEN', host).sort(), patiently).toEqual(old.toSorted());
  await put('young', 'old3');
  await expect.poll(() => seen('NEW', host).sort(), patiently).toEqual(['old3', 'young']);
  await expect.poll(() => seen('SEEN', host), patiently).toHaveLength(14);
  const largest = Math.max(
    ...host.lines.map((line) => (line.startsWith('SEEN') ? line.split(' ').length - 1 : 0)),
  );
  expect(largest).toBeLessThanOrEqual(4);
});

test('a function that throws does not get its changes again, as on the real host', async () => {
  const { env, put } = await newContainer('failing');
  await using host = await startHostProcess({ app, env });
  await put('fail');
  await expect.poll(() => seen('SEEN', host), patiently).toEqual(['fail']);
  await put('fail', 'next');
  await expect.poll(() => seen('SEEN', host).sort(), patiently).toEqual(['fail', 'fail', 'next']);
});

test('a retry policy has the changes run again', async () => {
  const { env, put } = await newContainer('retried');
  await using host = await startHostProcess({ app, env });
  await put('unlucky');
  await host.line(/TRIED .*"retryCount":2/);
  expect(host.lines.filter((line) => line.startsWith('TRIED'))).toEqual([
    'TRIED null',
    'TRIED {"retryCount":1,"maxRetryCount":2}',
    'TRIED {"retryCount":2,"maxRetryCount":2}',
  ]);
});

test('two hosts share the feed; when one is killed, the other goes on where it was', async () => {
  const { env, put } = await newContainer('shared');
  const first = await startHostProcess({ app, env: { ...env, INSTANCE_ID: 'first' } });
  const before = numbered('before', 9);
  await put(...before);
  await expect.poll(() => seen('SEEN', first).sort(), patiently).toEqual(before.toSorted());
  await using second = await startHostProcess({ app, env: { ...env, INSTANCE_ID: 'second' } });
  await put('during');
  await expect.poll(() => seen('SEEN', first), patiently).toContain('during');
  await first[Symbol.asyncDispose]();
  const after = numbered('after', 9);
  await put(...after);
  // Changes that the first host has seen may come again if it was killed before it could note its place.
  const news = () => seen('SEEN', second).filter((id) => id !== 'during');
  await expect.poll(() => news().sort(), patiently).toEqual(after.toSorted());
});

test.skipIf(noSignals)('a host that stops leaves its ranges to the next one at once', async () => {
  const { env, put } = await newContainer('stopping');
  const first = await startHostProcess({ app, env: { ...env, INSTANCE_ID: 'one' } });
  await put('a');
  await expect.poll(() => seen('SEEN', first), patiently).toEqual(['a']);
  first.kill('SIGINT');
  expect(await first.exited).toBe(0);
  const { resources } = await client
    .database('shop')
    .container('leases')
    .items.query<{ until: number }>("SELECT c.until FROM c WHERE CONTAINS(c.id, '.stopping.')")
    .fetchAll();
  expect(resources).toEqual(Array.from({ length: 9 }, () => ({ until: 0 })));
});
