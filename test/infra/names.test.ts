import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { blobName } from '../../packages/leases/src/blobLockStore.ts';
import { jobLockKey, workItemLockKey, workItemLockPrefix } from '../../packages/leases/src/index.ts';
import { type CallId, callIds } from '../../src/ops/calls.ts';
import { messageLockMs } from '../../src/paying/messageLock.ts';
import { blobContainers, queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import {
  type ContainerDefinition,
  containers,
  databaseName,
  indexingPolicy,
} from '../../src/platform/cosmosContainers.ts';
import { bodyValue, bodyValues } from './bicep/bodyValue.ts';
import { isRecord, type Value, variableValue } from './bicep/evaluate.ts';
import { appBicepPaths, readInfra } from './bicep/readBicep.ts';
import { queueDifferences, serviceBusQueuesIn, storageQueuesIn } from './compareQueues.ts';
import { allSources, root, sources } from './sources.ts';

const queueDefinition = z.object({ Name: z.string(), Properties: z.record(z.string(), z.unknown()) });
const emulatorConfig = z.object({
  UserConfig: z.object({ Namespaces: z.tuple([z.object({ Queues: z.array(queueDefinition) })]) }),
});
const hostJson = z.object({
  extensions: z.object({ serviceBus: z.object({ maxAutoLockRenewalDuration: z.string() }) }),
});

const queuesInBicep = serviceBusQueuesIn(readInfra('modules/serviceBus.bicep'));

describe('names', () => {
  const storage = readInfra('modules/storage.bicep');
  /** Used by deployments, not by the app's code. */
  const packages = 'packages';

  test('blob containers', () => {
    expect(sorted(variableValue(storage, 'blobContainers'))).toEqual(
      [...Object.values(blobContainers), packages].sort(),
    );
  });

  test('the lifecycle rules delete old work item locks, imports and changes, cool the archive, and touch no other blobs', () => {
    const longest = blobName(workItemLockKey('x'.repeat(900), 'notify'));
    const deepest = blobName(workItemLockKey('x/'.repeat(400), 'notify'));
    const rules = JSON.stringify(bodyValue(storage, 'lifecycle'));
    const prefixes = [...rules.matchAll(/"prefixMatch":\[([^\]]*)\]/g)].map((match) => match[1]);
    expect(prefixes).toEqual([
      `"${blobContainers.locks}/${workItemLockPrefix}"`,
      `"${blobContainers.archive}/"`,
      `"${blobContainers.imports}/"`,
      `"${blobContainers.changes}/"`,
    ]);
    expect(rules).toContain('"actions":{"baseBlob":{"tierToCool":{"daysAfterModificationGreaterThan":30}}}');
    // A closed network blocks the rule unless it allows trusted services.
    expect(JSON.stringify(bodyValue(storage, 'account'))).toContain('"bypass":"AzureServices"');
    for (const name of [longest, deepest, blobName(workItemLockKey('INV #1', 'receipt'))]) {
      expect(name.startsWith(workItemLockPrefix)).toBe(true);
    }
    for (const key of [jobLockKey('sweep-outbox'), jobLockKey('process-invoices', '0')]) {
      expect(blobName(key).startsWith(workItemLockPrefix)).toBe(false);
    }
  });

  test('queues', () => {
    const code = { storage: Object.values(queues), serviceBus: Object.values(serviceBusQueues) };
    const created = { storage: storageQueuesIn(storage), serviceBus: queuesInBicep.map(({ name }) => name) };
    expect(queueDifferences(code, created)).toEqual({ missing: [], idle: [] });
  });

  test('triggers listen on queues that infra/ creates', () => {
    const triggers = [...allSources.matchAll(/app\.(\w+Queue)\([\s\S]*?queueName: ([^,]+),/g)];
    const named = new Map<string | undefined, string>([
      ...Object.entries(queues).map(([name, queue]) => [`queues.${name}`, queue] as const),
      ...Object.entries(serviceBusQueues).map(
        ([name, queue]) => [`serviceBusQueues.${name}`, queue] as const,
      ),
    ]);
    const listened = (kind: string) =>
      triggers
        .filter((match) => match[1] === kind)
        .map(([, , name]) => named.get(name) ?? `not in azureNames.ts: ${name}`);
    // The sessions of the other queue are locks.
    expect([...listened('serviceBusQueue'), serviceBusQueues.locks]).toEqual(
      queuesInBicep.map(({ name }) => name),
    );
    expect(storageQueuesIn(storage)).toEqual(expect.arrayContaining(listened('storageQueue')));
    expect(listened('storageQueue')).toContain(queues.workItems);
  });

  test('every poison queue belongs to a queue', () => {
    expect(queues.workItemsPoison).toBe(`${queues.workItems}-poison`);
  });
});

describe('functions that infra/ names are registered under those names', () => {
  const { text } = readInfra('modules/functionApp.bicep').root;
  /**
   * Arguments of the calls of `app` and `df.app`, each with its name; the names of HTTP calls are in their
   * table.
   */
  const triggers = [...sources]
    .filter(([path]) => path.startsWith('src/functions/'))
    .flatMap(([, source]) => source.split(/\bapp\.\w+\(/).slice(1))
    .filter((given) => !given.startsWith('id,'))
    .map((given) => ({ given, name: nameIn(given) }));
  const registered = [...callIds, ...triggers.map(({ name }) => name)];

  /** The first argument: a literal or a constant. */
  function nameIn(given: string): string {
    const [, name, constant = ''] = /^(?:'(\w+)'|(\w+)),/.exec(given) ?? [];
    return name ?? new RegExp(`const ${constant} = '(\\w+)'`).exec(allSources)?.[1] ?? `no text: ${given}`;
  }

  test('kept warm', () => {
    const kept = text.match(/(?<='function:)\w+/g);
    expect(kept).toEqual(['executePayments']);
    expect(registered).toEqual(expect.arrayContaining(kept ?? []));
  });

  test('paused', () => {
    const paused = text.match(/(?<='AzureWebJobs\.)\w+(?=\.Disabled': 'true')/g);
    // Everything that claims or charges: the timer's run, manual runs, and the consumer of commands.
    const paying = /payonce\.(processInvoices|executePayments|runJobGroup)\(/;
    const names = triggers.filter(({ given }) => paying.test(given)).map(({ name }) => name);
    const startRun: CallId = 'startRun';
    expect(paused?.toSorted()).toEqual([...names, startRun].toSorted());
    expect(paused).toHaveLength(4);
    expect(registered).toEqual(expect.arrayContaining(paused ?? []));
  });
});

describe('Cosmos DB', () => {
  const cosmos = readInfra('modules/cosmos.bicep');

  test('the database', () => {
    expect(variableValue(cosmos, 'databaseName')).toBe(databaseName);
  });

  test('the complete containers: names, partition keys, TTL, indexes, and nothing else', () => {
    const resources = bodyValues(cosmos, 'sqlContainers').map((body) =>
      isRecord(body) ? { name: body.name, properties: body.properties } : body,
    );
    expect(resources).toEqual(
      Object.values(containers).map((container: ContainerDefinition) => ({
        name: container.name,
        properties: {
          resource: {
            id: container.name,
            partitionKey: { kind: 'Hash', version: 2, paths: [container.partitionKey] },
            defaultTtl: container.defaultTtl ?? null,
            indexingPolicy: indexingPolicy(container),
          },
        },
      })),
    );
  });
});

describe('Service Bus', () => {
  const config = emulatorConfig.parse(
    JSON.parse(readFileSync(join(root, 'local/serviceBusConfig.json'), 'utf8')),
  );

  test('the queues match the emulator config, property by property', () => {
    const inConfig = config.UserConfig.Namespaces[0].Queues.map(({ Name, Properties }) => ({
      name: Name,
      properties: Object.fromEntries(
        Object.entries(Properties).map(([key, value]) => [key.charAt(0).toLowerCase() + key.slice(1), value]),
      ),
    }));
    // The official emulator rejects a time to live above an hour, so Config.json leaves the default
    // (https://learn.microsoft.com/azure/service-bus-messaging/overview-emulator#usage-quotas).
    const inAzure = queuesInBicep.map(({ name, properties }) => {
      const { defaultMessageTimeToLive, ...others } = isRecord(properties) ? properties : {};
      expect(defaultMessageTimeToLive).toBe('P14D');
      return { name, properties: others };
    });
    expect(inAzure).toEqual(inConfig);
  });

  test('a lock lasts a minute, which bounds the delay after a crash, and the host renews it for five', () => {
    const host = hostJson.parse(JSON.parse(readFileSync(join(root, 'host.json'), 'utf8')));
    expect(queuesInBicep[0]?.properties).toMatchObject({ lockDuration: 'PT1M' });
    expect(host.extensions.serviceBus.maxAutoLockRenewalDuration).toBe('00:05:00');
    expect(messageLockMs).toBe(60_000);
  });
});

function sorted(value: Value): string[] {
  return z.array(z.string()).parse(value).sort();
}

/** As the templates of azd have them (cli/azd/.../abbreviations.json of Azure/azure-dev). */
const abbreviations: Readonly<Record<string, string>> = {
  'Microsoft.DocumentDB/databaseAccounts': 'cosmos-',
  'Microsoft.Insights/actionGroups': 'ag-',
  'Microsoft.Insights/components': 'appi-',
  'Microsoft.KeyVault/vaults': 'kv-',
  'Microsoft.ManagedIdentity/userAssignedIdentities': 'id-',
  'Microsoft.Network/natGateways': 'ng-',
  'Microsoft.Network/networkSecurityGroups': 'nsg-',
  'Microsoft.Network/publicIPAddresses': 'pip-',
  'Microsoft.Network/virtualNetworks': 'vnet-',
  'Microsoft.OperationalInsights/workspaces': 'log-',
  'Microsoft.Resources/resourceGroups': 'rg-',
  'Microsoft.ServiceBus/namespaces': 'sb-',
  'Microsoft.Storage/storageAccounts': 'st',
  'Microsoft.Web/serverfarms': 'plan-',
  'Microsoft.Web/sites': 'func-',
};

test('each resource has the abbreviation of its type before its name', () => {
  const main = readInfra('main.bicep');
  const given = [...main.modules.values()];
  const found = appBicepPaths().flatMap((path) =>
    [...readInfra(path).resources.values()].flatMap(({ type, existing, body }) => {
      const abbreviation = abbreviations[type.split('@')[0] ?? ''];
      const [, name = ''] = /^\s*name: (.+)$/m.exec(body.text) ?? [];
      if (abbreviation === undefined || existing) return [];
      const names = name.startsWith("'")
        ? [name]
        : given
            .filter(({ type: module }) => module === path)
            .map(
              ({ body: from }) => from.text.match(new RegExp(`^ {4}${name}: (?:.* )?('.*)$`, 'm'))?.[1] ?? '',
            );
      return names.map((text) => ({ type, text, starts: text.startsWith(`'${abbreviation}`) }));
    }),
  );
  expect(found.length).toBeGreaterThan(Object.keys(abbreviations).length);
  expect(found.filter(({ starts }) => !starts)).toEqual([]);
});
