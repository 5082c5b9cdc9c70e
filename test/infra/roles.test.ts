import type { Container } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { cosmosAudit } from '../../src/ops/cosmosAudit.ts';
import { blobContainers } from '../../src/platform/azureNames.ts';
import { variableValue } from './bicep/evaluate.ts';
import { appBicepPaths, developerModule, readInfra } from './bicep/readBicep.ts';
import { rolesOf } from './bicep/rolesOf.ts';
import { azureCallsIn, azurePackagesIn, callsWithoutNeed, roleDifferences } from './compareRoles.ts';
import { sources } from './sources.ts';

describe('roles', () => {
  const files = appBicepPaths().map(readInfra);

  test('infra/ assigns exactly the roles that the code needs', () => {
    expect(roleDifferences(sources, files)).toEqual({ missing: [], idle: [], twice: [] });
  });

  test('every client, sender, receiver and trigger in the code has a declared need', () => {
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

  test('no new Azure package: one may call a service that needs a role', () => {
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

  test('a developer has the data roles of the app, on whole services, and only if a parameter names one', () => {
    const names = (all: readonly { name: string }[]) => new Set(all.map(({ name }) => name));
    const assigned = rolesOf(readInfra(developerModule));
    expect(names(assigned)).toEqual(
      new Set([
        'Storage Blob Data Owner',
        'Storage Queue Data Contributor',
        'Storage Table Data Contributor',
        'Azure Service Bus Data Owner',
        'Cosmos DB Built-in Data Contributor',
      ]),
    );
    const ofApp = new Map(
      files.flatMap(rolesOf).map(({ name, id }) => [name, id.replace('<account.id>', '')]),
    );
    for (const { name, id } of assigned) expect(ofApp.get(name)).toBe(id.replace('<cosmos.id>', ''));
    const { text } = readInfra('main.bicep').root;
    expect(text).toContain(
      "module developer 'modules/developer.bicep' = if (!empty(developerPrincipalId) && roleAssignments) {",
    );
  });

  test('the identity of the code cannot write the package that it is loaded from, and deletes none of its own blobs', () => {
    const storage = readInfra('modules/storage.bicep');
    const condition = z.string().parse(variableValue(storage, 'ownBlobs'));
    for (const action of ['blobs/write', 'blobs/add/action', 'blobs/delete', 'blobs/move/action'])
      expect(condition).toContain(
        `!(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/${action}'})`,
      );
    const [deleting = '', writing = ''] = condition.split('\nAND\n');
    expect(deleting).toContain("blobs/delete'");
    expect(writing).not.toContain("blobs/delete'");
    // Whatever the app writes is in one of these; the code itself deletes no blob.
    const [, kept = ''] = /ForAnyOfAllValues:StringNotEquals \{([^}]*)\}/.exec(deleting) ?? [];
    const names = [...kept.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
    expect(names.toSorted()).toEqual([...Object.values(blobContainers), 'packages'].toSorted());
    expect(
      [...sources]
        .filter(
          ([, text]) => /\.(delete|deleteIfExists|deleteBlob)\(/.test(text) && /storage-blob/.test(text),
        )
        .map(([path]) => path),
    ).toEqual([]);
    expect(condition).toContain("containers:name] StringNotEquals 'packages'");
    const roles = z
      .array(z.object({ name: z.string(), condition: z.string() }))
      .parse(variableValue(storage, 'roles'));
    expect(roles.filter(({ name }) => name.includes('Blob'))).toEqual([
      { name: 'Storage Blob Data Owner', condition },
    ]);
    const app = readInfra('modules/functionApp.bicep').resources.get('app')?.body.text ?? '';
    expect(app).toContain('userAssignedIdentityResourceId: packageIdentityId');
    expect(app).not.toMatch(/packageIdentityClientId|package.*clientId/i);
  });

  test('each has a reason', () => {
    expect(
      [...files, readInfra(developerModule)].flatMap(rolesOf).filter(({ why }) => why.length < 20),
    ).toEqual([]);
  });

  test('the audit trail is append-only, in the code and in its role', async () => {
    const created: unknown[] = [];
    // Any other request would be a call of something missing.
    const items = { create: async (record: unknown) => void created.push(record) };
    const entry = { actor: 'ada', action: 'test', target: 'one' };
    await cosmosAudit({ items } as unknown as Container, systemClock).append(entry);
    expect(created).toMatchObject([entry]);
    const actions = readInfra('modules/cosmos.bicep').resources.get('auditAppender')?.body.text;
    expect(actions).toContain('items/create');
    expect(actions).not.toMatch(/items\/(replace|upsert|delete|\*)|containers\/\*/);
  });
});
