import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../../test/support/removeFolder.ts';
import { noSignals } from '../../../test/support/signals.ts';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const moments = 50;

/** Starts all services; resolves with their settings once they are ready. */
async function start(data: string) {
  const ports = ['cosmos', 'service-bus', 'service-bus-http', 'azurite'].flatMap((name) => [
    `--${name}-port`,
    '0',
  ]);
  const args = ['--data', data, '--settings', join(data, 'env'), '--create', ...ports];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const settings = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'ready') break;
    settings.set(line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1));
  }
  const cosmos = new CosmosClient({
    connectionString: settings.get('Cosmos') ?? '',
    connectionPolicy: { requestTimeout: 2_000, retryOptions: { maxRetryAttemptCount: 0 } },
  });
  const bus = new ServiceBusClient(settings.get('ServiceBus') ?? '', {
    retryOptions: { maxRetries: 0, timeoutInMs: 2_000 },
  });
  const blobPort = Number(
    /BlobEndpoint=http:\/\/127\.0\.0\.1:(\d+)/.exec(settings.get('AzureWebJobsStorage') ?? '')?.[1],
  );
  return { child, cosmos, bus, blobPort };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const answered = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(
      () => false,
      () => false,
    ),
  ]).catch(() => false);
  socket.destroy();
  return answered;
}

test.skipIf(noSignals)(
  'killed at fifty moments, the services lose nothing that they acknowledged, and leave no process behind',
  async () => {
    const data = mkdtempSync(join(tmpdir(), 'killed-'));
    onTestFinished(() => removeFolder(data));
    const items = new Set<string>();
    const sent = new Set<string>();
    const completed = new Set<string>();
    /** Messages whose completion was asked for: they may be gone without an answer. */
    const tried = new Set<string>();
    for (let round = 0; round < moments; round++) {
      const { child, cosmos, bus, blobPort } = await start(data);
      let killed = false;
      let number = 0;
      const until = async (work: (id: string) => Promise<void>) => {
        while (!killed) await work(`${round}-${number++}`).catch(() => {});
      };
      const { database } = await cosmos.databases.createIfNotExists({ id: 'd' });
      const { container } = await database.containers.createIfNotExists({ id: 'c', partitionKey: '/id' });
      // A topic, so that each message passes through two entities.
      const receiver = bus.createReceiver('t', 's', { maxAutoLockRenewalDurationInMs: 0 });
      await receiver.peekMessages(1);
      const sender = bus.createSender('t');
      const working = Promise.all([
        until(async (id) => {
          await container.items.create({ id });
          items.add(id);
        }),
        until(async (messageId) => {
          await sender.sendMessages({ body: messageId, messageId });
          sent.add(messageId);
        }),
        until(async () => {
          const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 1_000 });
          if (message === undefined) return;
          tried.add(String(message.messageId));
          await receiver.completeMessage(message);
          completed.add(String(message.messageId));
        }),
      ]);
      await delay(20 + Math.random() * 400);
      child.kill('SIGKILL');
      await once(child, 'exit');
      killed = true;
      // Requests in flight get no answer.
      void working.then(() => bus.close()).catch(() => {});
      cosmos.dispose();
      await expect.poll(() => isListening(blobPort), { timeout: 15_000 }).toBe(false);
    }

    const { child, cosmos, bus } = await start(data);
    const stored = await cosmos
      .database('d')
      .container('c')
      .items.query<string>('SELECT VALUE c.id FROM c')
      .fetchAll();
    const left = bus.createReceiver('t', 's', { receiveMode: 'receiveAndDelete' });
    const messages = new Set<string>();
    for (;;) {
      const page = await left.receiveMessages(500, { maxWaitTimeInMs: 1_500 });
      if (page.length === 0) break;
      for (const { messageId } of page) messages.add(String(messageId));
    }
    await bus.close();
    cosmos.dispose();
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(Math.min(items.size, sent.size, completed.size)).toBeGreaterThan(moments);
    const found = new Set(stored.resources);
    expect([...items].filter((id) => !found.has(id))).toEqual([]);
    expect([...sent].filter((id) => !messages.has(id) && !tried.has(id))).toEqual([]);
    expect([...completed].filter((id) => messages.has(id))).toEqual([]);
    console.log(`${items.size} items, ${sent.size} messages, ${completed.size} of them completed`);
  },
  900_000,
);
