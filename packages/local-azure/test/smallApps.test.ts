import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../test/support/functionsHostProcess.ts';
import { removeFolder } from '../../../test/support/removeFolder.ts';
import { type Services, startServices } from '../src/services.ts';

/*
 * Small apps in the form of those that `func init` and `func new` make, and built as they are: JavaScript as it is, TypeScript
 * by tsc to CommonJS.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
let services: Services;

beforeAll(async () => {
  const serviceBusConfig = join(newFolder(), 'Config.json');
  const Topics = [{ Name: 'orders', Subscriptions: [{ Name: 'all' }] }];
  const Queues = [{ Name: 'jobs' }, { Name: 'in-order', Properties: { RequiresSession: true } }];
  writeFileSync(serviceBusConfig, JSON.stringify({ UserConfig: { Namespaces: [{ Queues, Topics }] } }));
  const ports = { cosmos: 0, serviceBus: 0, serviceBusHttp: 0, azurite: 0 };
  services = await startServices({ ports, partitions: 3, serviceBusConfig });
});
afterAll(async () => {
  await services?.stop();
  for (const folder of folders) await removeFolder(folder);
});

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'small-app-'));
  folders.push(folder);
  return folder;
}

const hostJson = {
  version: '2.0',
  logging: { applicationInsights: { samplingSettings: { isEnabled: true, excludedTypes: 'Request' } } },
  extensionBundle: { id: 'Microsoft.Azure.Functions.ExtensionBundle', version: '[4.*, 5.0.0)' },
};
const localSettings = {
  IsEncrypted: false,
  Values: { FUNCTIONS_WORKER_RUNTIME: 'node', AzureWebJobsStorage: 'UseDevelopmentStorage=true' },
};
const tsconfig = {
  compilerOptions: {
    module: 'commonjs',
    target: 'es6',
    outDir: 'dist',
    rootDir: '.',
    sourceMap: true,
    strict: false,
    types: ['node'],
    skipLibCheck: true,
  },
};

/** Writes and builds an app, and starts its host on the services. */
async function start(language: 'js' | 'ts', name: string, code: string): Promise<HostProcess> {
  const folder = newFolder();
  const isBuilt = language === 'ts';
  const write = (file: string, content: string | object) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
  };
  write('package.json', {
    name,
    version: '1.0.0',
    main: `${isBuilt ? 'dist/' : ''}src/{index.js,functions/*.js}`,
  });
  write('host.json', hostJson);
  write('local.settings.json', localSettings);
  const load = isBuilt
    ? "import { app } from '@azure/functions';"
    : "const { app } = require('@azure/functions');";
  write(`src/index.${language}`, `${load}\n\napp.setup({\n    enableHttpStream: true,\n});\n`);
  write(`src/functions/${name}.${language}`, code);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  if (isBuilt) {
    write('tsconfig.json', tsconfig);
    const tsc = join(
      dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin',
      'tsc',
    );
    execFileSync(process.execPath, [tsc], { cwd: folder, stdio: 'inherit' });
  }
  const { settings } = services;
  const env = Object.fromEntries(
    ['AzureWebJobsStorage', 'Cosmos', 'ServiceBus'].map((key) => [key, settings[key] ?? '']),
  );
  // A task hub of its own: the host of the test before was killed, and its leases have not ended.
  const hubName = { AzureFunctionsJobHost__extensions__durableTask__hubName: name };
  const host = await startHostProcess({ app: folder, env: { ...env, ...hubName }, envFile: 'none' });
  onTestFinished(() => host[Symbol.asyncDispose]());
  return host;
}

test('HTTP, in JavaScript', async () => {
  const host = await start(
    'js',
    'httpTrigger1',
    `const { app } = require('@azure/functions');

app.http('httpTrigger1', {
    methods: ['GET', 'POST'],
    authLevel: 'anonymous',
    handler: async (request, context) => {
        const who = request.query.get('name') ?? await request.text();
        context.log('greets', who);
        return { body: \`Good day, \${who}\` };
    }
});
`,
  );
  expect(await (await fetch(`${host.address}/api/httpTrigger1?name=a`)).text()).toBe('Good day, a');
  const posted = await fetch(`${host.address}/api/httpTrigger1`, { method: 'POST', body: 'b' });
  expect(await posted.text()).toBe('Good day, b');
});

test('a timer, in TypeScript', async () => {
  const host = await start(
    'ts',
    'timerTrigger1',
    `import { app, InvocationContext, Timer } from "@azure/functions";

export async function timerTrigger1(myTimer: Timer, context: InvocationContext): Promise<void> {
    context.log('it is time', myTimer.isPastDue);
}

app.timer('timerTrigger1', {
    schedule: '*/2 * * * * *',
    handler: timerTrigger1
});
`,
  );
  await host.line(/it is time false/);
});

test('a storage queue with an output, in JavaScript', async () => {
  const queues = QueueServiceClient.fromConnectionString(services.azurite.connectionString);
  await queues.createQueue('js-queue-items');
  await queues.getQueueClient('js-queue-items').sendMessage(Buffer.from('{"id":7}').toString('base64'));
  await start(
    'js',
    'storageQueueTrigger1',
    `const { app, output } = require('@azure/functions');

app.storageQueue('storageQueueTrigger1', {
    queueName: 'js-queue-items',
    connection: 'AzureWebJobsStorage',
    return: output.storageQueue({ queueName: 'js-queue-done', connection: 'AzureWebJobsStorage' }),
    handler: (queueItem, context) => {
        return { done: queueItem.id };
    }
});
`,
  );
  const done = queues.getQueueClient('js-queue-done');
  const peeked = async () =>
    (await done.exists())
      ? (await done.peekMessages()).peekedMessageItems.map((each) => each.messageText)
      : [];
  const expected = [Buffer.from('{"done":7}').toString('base64')];
  await expect.poll(peeked, { timeout: 20_000 }).toEqual(expected);
});

async function onServiceBus<T>(work: (client: ServiceBusClient) => Promise<T>): Promise<T> {
  const client = new ServiceBusClient(services.serviceBus.connectionString);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

test('a Service Bus queue, in TypeScript', async () => {
  const host = await start(
    'ts',
    'serviceBusQueueTrigger1',
    `import { app, InvocationContext } from "@azure/functions";

export async function serviceBusQueueTrigger1(message: unknown, context: InvocationContext): Promise<void> {
    context.log('got', message);
}

app.serviceBusQueue('serviceBusQueueTrigger1', {
    connection: 'ServiceBus',
    queueName: 'jobs',
    handler: serviceBusQueueTrigger1
});
`,
  );
  await onServiceBus((client) => client.createSender('jobs').sendMessages({ body: { job: 1 } }));
  await host.line(/got \{ job: 1 \}/);
});

test('a Service Bus topic, in JavaScript', async () => {
  const host = await start(
    'js',
    'serviceBusTopicTrigger1',
    `const { app } = require('@azure/functions');

app.serviceBusTopic('serviceBusTopicTrigger1', {
    connection: 'ServiceBus',
    topicName: 'orders',
    subscriptionName: 'all',
    handler: (message, context) => {
        context.log('got', message);
    }
});
`,
  );
  await onServiceBus((client) => client.createSender('orders').sendMessages({ body: 'an order' }));
  await host.line(/got an order/);
});

test('Service Bus sessions, in TypeScript', async () => {
  const host = await start(
    'ts',
    'serviceBusSession1',
    `import { app, InvocationContext } from "@azure/functions";

export async function serviceBusSession1(message: unknown, context: InvocationContext): Promise<void> {
    context.log('Session', context.triggerMetadata.sessionId, 'has', message);
}

app.serviceBusQueue('serviceBusSession1', {
    connection: 'ServiceBus',
    queueName: 'in-order',
    isSessionsEnabled: true,
    handler: serviceBusSession1
});
`,
  );
  const messages = [1, 2, 3].map((n) => ({ body: `step ${n}`, sessionId: 'a' }));
  await onServiceBus((client) => client.createSender('in-order').sendMessages(messages));
  await host.line(/Session a has step 3/);
  const steps = host.lines.flatMap((line) => /Session a has (.*)$/.exec(line)?.[1] ?? []);
  expect(steps).toEqual(['step 1', 'step 2', 'step 3']);
});

test('the change feed of Cosmos DB, in TypeScript', async () => {
  const client = new CosmosClient(services.cosmos.connectionString);
  onTestFinished(() => client.dispose());
  const { database } = await client.databases.create({ id: 'shop' });
  const { container } = await database.containers.create({ id: 'items', partitionKey: '/id' });
  const host = await start(
    'ts',
    'cosmosDBTrigger1',
    `import { app, InvocationContext } from "@azure/functions";

export async function cosmosDBTrigger1(documents: unknown[], context: InvocationContext): Promise<void> {
    context.log('changed:', documents.length);
}

app.cosmosDB('cosmosDBTrigger1', {
    connection: 'Cosmos',
    databaseName: 'shop',
    containerName: 'items',
    createLeaseContainerIfNotExists: true,
    handler: cosmosDBTrigger1
});
`,
  );
  await container.items.create({ id: '1' });
  await host.line(/changed: 1/);
});

test('a blob, in JavaScript', async () => {
  const container = BlobServiceClient.fromConnectionString(
    services.azurite.connectionString,
  ).getContainerClient('samples-workitems');
  await container.create();
  const host = await start(
    'js',
    'storageBlobTrigger1',
    `const { app } = require('@azure/functions');

app.storageBlob('storageBlobTrigger1', {
    path: 'samples-workitems/{name}',
    connection: 'AzureWebJobsStorage',
    handler: (blob, context) => {
        context.log(context.triggerMetadata.name, 'has', blob.length, 'bytes');
    }
});
`,
  );
  await container.getBlockBlobClient('a.txt').upload('12345', 5);
  await host.line(/a\.txt has 5 bytes/);
});

/** Starts an orchestration over HTTP and waits, as its client would, for its output. */
async function outputOf({ address }: HostProcess, orchestrator: string): Promise<unknown> {
  const started = await fetch(`${address}/api/orchestrators/${orchestrator}`, { method: 'POST' });
  expect(started.status).toBe(202);
  const { statusQueryGetUri } = (await started.json()) as { statusQueryGetUri: string };
  const status = async () =>
    (await (await fetch(statusQueryGetUri)).json()) as { runtimeStatus: string; output: unknown };
  await expect.poll(async () => (await status()).runtimeStatus, { timeout: 30_000 }).toBe('Completed');
  return (await status()).output;
}

test('a Durable fan-out, in TypeScript', async () => {
  const host = await start(
    'ts',
    'fanOut',
    `import { app, HttpHandler, HttpRequest, HttpResponse, InvocationContext } from '@azure/functions';
import * as df from 'durable-functions';
import { ActivityHandler, OrchestrationContext, OrchestrationHandler } from 'durable-functions';

const activityName = 'greet';

const fanOutOrchestrator: OrchestrationHandler = function* (context: OrchestrationContext) {
    const tasks = ['Ada', 'Grace', 'Mary'].map((name) => context.df.callActivity(activityName, name));
    return yield context.df.Task.all(tasks);
};
df.app.orchestration('fanOutOrchestrator', fanOutOrchestrator);

const greet: ActivityHandler = (input: string): string => {
    return \`Good day, \${input}\`;
};
df.app.activity(activityName, { handler: greet });

const fanOutHttpStart: HttpHandler = async (request: HttpRequest, context: InvocationContext): Promise<HttpResponse> => {
    const client = df.getClient(context);
    const id = await client.startNew(request.params.orchestratorName, { input: await request.text() });
    return client.createCheckStatusResponse(request, id);
};

app.http('fanOutHttpStart', {
    route: 'orchestrators/{orchestratorName}',
    extraInputs: [df.input.durableClient()],
    handler: fanOutHttpStart,
});
`,
  );
  expect(await outputOf(host, 'fanOutOrchestrator')).toEqual([
    'Good day, Ada',
    'Good day, Grace',
    'Good day, Mary',
  ]);
});

test('Durable with a timer, in JavaScript', async () => {
  const host = await start(
    'js',
    'waits',
    `const { app } = require('@azure/functions');
const df = require('durable-functions');

df.app.orchestration('waits', function* (context) {
    const startedAt = context.df.currentUtcDateTime.getTime();
    yield context.df.createTimer(new Date(startedAt + 2000));
    return context.df.currentUtcDateTime.getTime() - startedAt >= 2000;
});

app.http('waitsHttpStart', {
    route: 'orchestrators/{orchestratorName}',
    extraInputs: [df.input.durableClient()],
    handler: async (request, context) => {
        const client = df.getClient(context);
        const instanceId = await client.startNew(request.params.orchestratorName, { input: await request.text() });
        return client.createCheckStatusResponse(request, instanceId);
    },
});
`,
  );
  expect(await outputOf(host, 'waits')).toBe(true);
});
