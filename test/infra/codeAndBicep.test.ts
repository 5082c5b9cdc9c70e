import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { blobContainers, queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName, indexingPolicy } from '../../src/platform/cosmosContainers.ts';
import { readSettings } from '../../src/platform/readSettings.ts';
import { isRecord, type Value, variableValue } from './bicep/evaluate.ts';
import { bicepPaths, readInfra } from './bicep/readBicep.ts';
import { bodyValue, rolesOf } from './bicep/rolesOf.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const sources = new Map(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, 'src', path), 'utf8')]),
);
const allSources = [...sources.values()].join('\n');
const queueDefinition = z.object({ Name: z.string(), Properties: z.record(z.string(), z.unknown()) });
const emulatorConfig = z.object({
  UserConfig: z.object({ Namespaces: z.tuple([z.object({ Queues: z.array(queueDefinition) })]) }),
});
const hostJson = z.object({
  functionTimeout: z.string(),
  extensions: z.object({ serviceBus: z.object({ maxAutoLockRenewalDuration: z.string() }) }),
});

describe('names', () => {
  const storage = readInfra('modules/storage.bicep');
  /** For deployments, not for the app's code. */
  const packages = 'packages';

  test('blob containers', () => {
    expect(sorted(variableValue(storage, 'blobContainers'))).toEqual(
      [...Object.values(blobContainers), packages].sort(),
    );
  });

  test('storage queues', () => {
    expect(sorted(variableValue(storage, 'queues'))).toEqual(Object.values(queues).toSorted());
  });

  test('Service Bus queues', () => {
    const names = queuesInBicep().map((queue) => queue.name);
    expect(names).toEqual(Object.values(serviceBusQueues));
  });

  test('triggers listen to queues that infra/ creates', () => {
    const triggers = [...allSources.matchAll(/app\.(\w+Queue)\([\s\S]*?queueName: '([^']+)'/g)];
    const listened = (kind: string) => triggers.filter((match) => match[1] === kind).map((match) => match[2]);
    expect(listened('serviceBusQueue')).toEqual(queuesInBicep().map(({ name }) => name));
    const created = sorted(variableValue(storage, 'queues'));
    expect(created).toEqual(expect.arrayContaining(listened('storageQueue')));
    expect(listened('storageQueue')).toContain(queues.workItems);
  });

  test('every poison queue belongs to a queue', () => {
    expect(queues.workItemsPoison).toBe(`${queues.workItems}-poison`);
  });
});

describe('Cosmos DB', () => {
  const cosmos = readInfra('modules/cosmos.bicep');

  test('the database', () => {
    expect(variableValue(cosmos, 'databaseName')).toBe(databaseName);
  });

  test('the containers: names, partition keys, TTL, indexes', () => {
    expect(variableValue(cosmos, 'containers')).toEqual(
      Object.values(containers).map((container) => ({
        name: container.name,
        partitionKey: container.partitionKey,
        ttl: 'defaultTtl' in container ? container.defaultTtl : null,
        indexed: container.indexed,
      })),
    );
  });

  test('the indexing policy is put together as the local cloud does it', () => {
    const { partitionKey, defaultTtl, indexingPolicy: policy } = containerResource();
    const example = indexingPolicy({ name: 'x', partitionKey: '/x', indexed: ['/x/?'] });
    expect(partitionKey).toMatchObject({ kind: 'Hash', version: 2 });
    expect(defaultTtl).toMatchObject({ text: 'container.ttl' });
    expect(policy).toMatchObject({
      indexingMode: example.indexingMode,
      automatic: example.automatic,
      excludedPaths: example.excludedPaths,
    });
  });

  function containerResource() {
    const body = bodyValue(cosmos, 'sqlContainers');
    const properties = isRecord(body) ? body.properties : undefined;
    const resource = properties !== undefined && isRecord(properties) ? properties.resource : undefined;
    if (resource === undefined || !isRecord(resource)) throw new Error('no resource');
    return resource;
  }
});

describe('Service Bus', () => {
  const config = emulatorConfig.parse(
    JSON.parse(readFileSync(join(root, 'local/serviceBus/Config.json'), 'utf8')),
  );

  test('the queues are those of the emulator, property by property', () => {
    const inConfig = config.UserConfig.Namespaces[0].Queues.map(({ Name, Properties }) => ({
      name: Name,
      properties: Object.fromEntries(
        Object.entries(Properties).map(([key, value]) => [key.charAt(0).toLowerCase() + key.slice(1), value]),
      ),
    }));
    // The official emulator refuses a time to live above an hour, so Config.json leaves it to each system's default
    // (https://learn.microsoft.com/azure/service-bus-messaging/overview-emulator#usage-quotas).
    const inAzure = queuesInBicep().map(({ name, properties }) => {
      const { defaultMessageTimeToLive, ...others } = isRecord(properties) ? properties : {};
      expect(defaultMessageTimeToLive).toBe('P14D');
      return { name, properties: others };
    });
    expect(inAzure).toEqual(inConfig);
  });

  test('a lock can be renewed for as long as the host does it, and a function ends before the claim is stale twice', () => {
    const host = hostJson.parse(JSON.parse(readFileSync(join(root, 'host.json'), 'utf8')));
    // Service Bus grants locks of at most 5 minutes (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-queues-topics-subscriptions).
    expect(queuesInBicep()[0]?.properties).toMatchObject({ lockDuration: 'PT1M' });
    expect(host.extensions.serviceBus.maxAutoLockRenewalDuration).toBe('00:05:00');
  });
});

describe('settings', () => {
  const functionApp = readInfra('modules/functionApp.bicep');
  const given = {
    identityClientId: '11111111-2222-3333-4444-555555555555',
    storageName: 'stpayonceabc',
    cosmosEndpoint: 'https://cosmos-payonce-abc.documents.azure.com:443/',
    serviceBusHost: 'sb-payonce-abc.servicebus.windows.net',
    notifyWebhookUrl: '',
    ...Object.fromEntries(
      ['shards', 'shardGroups', 'invoiceSchedule', 'outboxSchedule'].map((name) => [name, mainDefault(name)]),
    ),
  };
  const appSettings = z
    .record(z.string(), z.string())
    .parse(
      Object.fromEntries(
        settingsIn(variableValue(functionApp, 'appSettings', given)).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : 'known to Azure only',
        ]),
      ),
    );

  /** Read by the code and not set in Azure, each with its reason. */
  const notSet: Record<string, string> = {
    AzureWebJobsStorage: 'a connection string: the app uses its identity',
    Cosmos: 'a connection string: the app uses its identity',
    ServiceBus: 'a connection string: the app uses its identity',
    AzureWebJobsStorage__blobServiceUri: 'follows from accountName',
    AzureWebJobsStorage__queueServiceUri: 'follows from accountName',
    INSTANCE_ID: 'the platform names its instances',
    WEBSITE_INSTANCE_ID: 'set by the platform',
    CONTAINER_NAME: 'set by the platform',
  };
  test('every setting that the code reads is set, or has a reason not to be', () => {
    const missing = settingsInCode().filter((name) => !(name in appSettings) && !(name in notSet));
    expect(missing).toEqual([]);
  });

  test('every setting in infra/ is read by the code', () => {
    const read = new Set(settingsInCode());
    expect(Object.keys(appSettings).filter((name) => !read.has(name))).toEqual([]);
  });

  test('what is left out for a reason is still read by the code', () => {
    expect(Object.keys(notSet).filter((name) => !settingsInCode().includes(name))).toEqual([]);
  });

  test('nothing but the entry points reads the environment', () => {
    const readers = [...sources].filter(([, text]) => text.includes('process.env')).map(([path]) => path);
    expect(readers).toEqual(['payonce.ts']);
  });

  test('the code accepts them, takes the identity everywhere, and finds its own defaults', () => {
    const key = { STRIPE_SECRET_KEY: ['sk', 'test', 'x'].join('_') };
    const settings = readSettings({ ...appSettings, ...key });
    expect(settings).toMatchObject({
      storage: { kind: 'identity', blobEndpoint: 'https://stpayonceabc.blob.core.windows.net' },
      cosmos: { kind: 'identity', endpoint: given.cosmosEndpoint },
      serviceBus: { kind: 'identity', namespace: given.serviceBusHost },
      clientId: given.identityClientId,
    });
    const local = readSettings({
      AzureWebJobsStorage__accountName: given.storageName,
      Cosmos__accountEndpoint: given.cosmosEndpoint,
      ServiceBus__fullyQualifiedNamespace: given.serviceBusHost,
      AZURE_CLIENT_ID: given.identityClientId,
      ...key,
    });
    expect({ ...settings, instanceId: '' }).toEqual({ ...local, instanceId: '' });
  });

  test('the Stripe key is a reference to the vault', () => {
    expect(appSettings.STRIPE_SECRET_KEY).toBe('@Microsoft.KeyVault(SecretUri=<stripeSecretUri>)');
  });
});

describe('roles', () => {
  const assigned = bicepPaths().flatMap((path) => rolesOf(readInfra(path)));

  /** What the code calls, as a pattern in src/, and the role that allows it. Roles without a call would be too many. */
  const needs: { call: RegExp; role: string; id: string; scope: string }[] = [
    {
      call: /new BlobServiceClient\(/,
      role: 'Storage Blob Data Owner',
      id: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
      scope: 'account',
    },
    {
      call: /new QueueServiceClient\(/,
      role: 'Storage Queue Data Contributor',
      id: '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
      scope: 'account',
    },
    {
      call: /from 'durable-functions'/,
      role: 'Storage Table Data Contributor',
      id: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
      scope: 'account',
    },
    {
      call: /createSender\(/,
      role: 'Azure Service Bus Data Sender',
      id: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39',
      scope: 'paymentCommands',
    },
    {
      call: /app\.serviceBusQueue\(/,
      role: 'Azure Service Bus Data Receiver',
      id: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
      scope: 'paymentCommands',
    },
    {
      call: /app\.serviceBusQueue\(/,
      role: 'Azure Service Bus Data Owner',
      id: '090c5cfd-751d-490a-894a-3ce6f1109419',
      scope: 'paymentCommands',
    },
    {
      call: /new CosmosClient\(/,
      role: 'payonce metadata reader',
      id: '<metadataReader.id>',
      scope: '<account.id>',
    },
    ...(['invoices', 'workItems', 'runs'] as const).map((name) => ({
      call: new RegExp(`containers\\.${name}\\b`),
      role: 'Cosmos DB Built-in Data Contributor',
      id: '<account.id>/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002',
      scope: `<account.id>/dbs/${databaseName}/colls/${containers[name].name}`,
    })),
    {
      call: /containers\.audit\b/,
      role: 'payonce audit appender',
      id: '<auditAppender.id>',
      scope: `<account.id>/dbs/${databaseName}/colls/${containers.audit.name}`,
    },
    {
      call: /STRIPE_SECRET_KEY/,
      role: 'Key Vault Secrets User',
      id: '4633458b-17de-408a-b874-0445c86b69e6',
      scope: 'vault',
    },
    {
      call: /AzureMonitorMetricExporter/,
      role: 'Monitoring Metrics Publisher',
      id: '3913510d-42f4-4e42-8a64-420c390055eb',
      scope: 'applicationInsights',
    },
  ];

  test('each that the code needs is assigned, and no other', () => {
    const wanted = needs.filter(({ call }) => call.test(allSources));
    const key = ({ role, id, scope }: { role: string; id: string; scope: string }) =>
      `${role} (${id}) on ${scope}`;
    expect(assigned.map(({ name, ...role }) => key({ ...role, role: name })).sort()).toEqual(
      wanted.map(key).sort(),
    );
  });

  test('each says why', () => {
    expect(assigned.filter(({ why }) => why.length < 20)).toEqual([]);
  });

  test('the audit trail is only appended to: by the code and by its role', () => {
    expect(sources.get('ops/audit.ts')).not.toMatch(/\.(replace|upsert|delete|patch|batch)\(/);
    const actions = readInfra('modules/cosmos.bicep').resources.get('auditAppender')?.body.text;
    expect(actions).toContain('items/create');
    expect(actions).not.toMatch(/items\/(replace|upsert|delete|\*)|containers\/\*/);
  });
});

/** Names of all settings that the code reads: in capitals, or the two forms of a connection. */
function settingsInCode(): string[] {
  const text = [
    'platform/readSettings.ts',
    'platform/connections.ts',
    'platform/exportTelemetry.ts',
    'payonce.ts',
  ]
    .map((path) => withoutComments(sources.get(path) ?? ''))
    .join('\n');
  const names = [
    // Keys of a schema, members of an environment, and names in quotes: never words inside of a message.
    ...text.matchAll(/(?:^|[\s{(,.])([A-Z][A-Z\d]+(?:_[A-Z\d]+)*)(?=\s*[:,})\]]|\s*\?\?|;|\s*$)/gm),
    ...text.matchAll(/'([A-Z][A-Z\d]+(?:_[A-Z\d]+)+)'/g),
    ...text.matchAll(/\benv\.(\w+)/g),
  ].map((match) => match[1] ?? '');
  const prefixes = [...text.matchAll(/prefix: '(\w+)'/g)].map((match) => match[1] ?? '');
  const ends = ['credential', 'clientId'].filter((end) => text.includes(`__${end}\``));
  const forms = prefixes.flatMap((prefix) => [prefix, ...ends.map((end) => `${prefix}__${end}`)]);
  return [...new Set([...names, ...forms])].filter((name) => !['URL', 'NEVER'].includes(name)).sort();
}

function settingsIn(value: Value): [string, Value][] {
  return isRecord(value) ? Object.entries(value) : [];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function queuesInBicep(): { name: string; properties: Value }[] {
  const file = readInfra('modules/serviceBus.bicep');
  return [...file.resources.values()]
    .filter(({ type }) => type.startsWith('Microsoft.ServiceBus/namespaces/queues@'))
    .map(({ name }) => {
      const body = bodyValue(file, name);
      if (!isRecord(body) || typeof body.name !== 'string') throw new Error(`${name} has no name`);
      return { name: body.name, properties: body.properties ?? null };
    });
}

function mainDefault(name: string): Value {
  const text = readInfra('main.bicep').params.get(name)?.value?.text ?? '';
  return /^\d+$/.test(text) ? Number(text) : text.replace(/^'|'$/g, '');
}

function sorted(value: Value): string[] {
  return z.array(z.string()).parse(value).sort();
}
