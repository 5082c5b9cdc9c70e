import { describe, expect, test } from 'vitest';
import { bicepPaths, readInfra } from './bicep/readBicep.ts';
import { rolesOf } from './bicep/rolesOf.ts';
import { azureCallsIn, azurePackagesIn, callsWithoutNeed, roleDifferences } from './compareRoles.ts';
import { sources } from './sources.ts';

describe('roles', () => {
  const files = bicepPaths().map(readInfra);

  test('each that the code needs is assigned, and no other', () => {
    expect(roleDifferences(sources, files)).toEqual({ missing: [], idle: [], twice: [] });
  });

  test('for every client, sender, receiver and trigger of the code it is known what it needs', () => {
    expect(callsWithoutNeed(sources)).toEqual([]);
    expect(azureCallsIn(sources)).toEqual(
      expect.arrayContaining([
        'new AzureMonitorMetricExporter(',
        'new BlobServiceClient(',
        'new ContainerClient(',
        'new CosmosClient(',
        'new QueueServiceClient(',
        'new ServiceBusClient(',
        '.createReceiver(',
        '.createSender(',
        'app.serviceBusQueue(',
        'app.storageQueue(',
      ]),
    );
  });

  test('a package of Azure that is new here may call a service that is new here', () => {
    expect(azurePackagesIn(sources)).toEqual([
      '@azure/cosmos',
      '@azure/functions',
      '@azure/identity',
      '@azure/monitor-opentelemetry-exporter',
      '@azure/service-bus',
      '@azure/storage-blob',
      '@azure/storage-queue',
      'durable-functions',
    ]);
  });

  test('each says why', () => {
    expect(files.flatMap(rolesOf).filter(({ why }) => why.length < 20)).toEqual([]);
  });

  test('the audit trail is only appended to: by the code and by its role', () => {
    expect(sources.get('ops/audit.ts')).not.toMatch(/\.(replace|upsert|delete|patch|batch)\(/);
    const actions = readInfra('modules/cosmos.bicep').resources.get('auditAppender')?.body.text;
    expect(actions).toContain('items/create');
    expect(actions).not.toMatch(/items\/(replace|upsert|delete|\*)|containers\/\*/);
  });
});
