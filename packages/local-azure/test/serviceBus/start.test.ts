import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { ConfigError } from '../../src/serviceBus/config.ts';
import { startServiceBus } from '../../src/serviceBus/index.ts';

test('starts with the queues it is given; stop is idempotent and frees the ports', async () => {
  const bus = await startServiceBus({ queues: { orders: { LockDuration: 'PT10S' } } });
  const client = new ServiceBusClient(bus.connectionString);
  await client.createSender('orders').sendMessages({ body: 1 });
  const stats = await (await fetch(`${bus.localAddress}/_local/stats`)).json();
  expect(stats).toMatchObject({ queues: { orders: { active: 1, sent: 1 } } });
  await client.close();
  await Promise.all([bus.stop(), bus.stop()]);
  const { port } = bus;
  await using again = await startServiceBus({ port });
  expect(again.port).toBe(port);
});

test('a taken port is an error and leaves nothing open', async () => {
  const data = await mkdtemp(join(tmpdir(), 'service-bus-data-'));
  // Runs after everything started here has released the folder.
  onTestFinished(() => removeFolder(data));
  await using first = await startServiceBus();
  await expect(startServiceBus({ data, port: first.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const httpPort = Number(new URL(first.localAddress).port);
  await expect(startServiceBus({ data, httpPort })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await using second = await startServiceBus({ data });
  expect(second.port).not.toBe(first.port);
  await expect(startServiceBus({ data })).rejects.toThrow(/another process/);
});

test('an unsupported configuration is refused at start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'service-bus-'));
  const config = join(folder, 'Config.json');
  await writeFile(
    config,
    JSON.stringify({ UserConfig: { Namespaces: [{ Name: 'n', Topics: [{ Name: 't', Duplicates: 1 }] }] } }),
  );
  await expect(startServiceBus({ config })).rejects.toThrow(ConfigError);
  await expect(startServiceBus({ queues: { orders: { Lock: 1 } } })).rejects.toThrow(/option queues.*Lock/s);
  await removeFolder(folder);
});

test('an unknown HTTP path is a 404 that names it', async () => {
  await using bus = await startServiceBus();
  const response = await fetch(`${bus.localAddress}/payment-commands/messages`);
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: expect.stringContaining('GET /payment-commands/messages') },
  ]);
});

test('a queue that forwards to nothing, or in a circle, is refused at start', async () => {
  const start = (queues: Record<string, Record<string, unknown>>) => startServiceBus({ queues });
  await expect(start({ a: { ForwardTo: 'b' } })).rejects.toThrow(
    '"a" forwards to "b", which is no queue or topic',
  );
  await expect(start({ a: { ForwardTo: 'b' }, b: { ForwardTo: 'a' } })).rejects.toThrow(/in a circle/);
});
