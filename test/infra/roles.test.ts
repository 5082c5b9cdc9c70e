import { describe, expect, test } from 'vitest';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { bicepPaths, readInfra } from './bicep/readBicep.ts';
import { rolesOf } from './bicep/rolesOf.ts';
import { allSources, sources } from './sources.ts';

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
