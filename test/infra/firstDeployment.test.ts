import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { containers } from '../../src/platform/cosmosContainers.ts';
import { bodyValue } from './bicep/bodyValue.ts';
import { readInfra } from './bicep/readBicep.ts';
import { root } from './sources.ts';

/*
 * Mistakes that have made first deployments of such templates fail. Each of them compiles, and each passes
 * what-if: only the service refuses it.
 */

const main = readInfra('main.bicep');
const cosmos = readInfra('modules/cosmos.bicep');

/** True if a resource loop is deployed one element after the other. */
function oneAtATime(module: string, resource: string): boolean {
  return readInfra(module).root.text.includes(`\n@batchSize(1)\nresource ${resource} `);
}

test('private endpoints are created one at a time: three belong to the storage account', () => {
  expect(oneAtATime('modules/privateEndpoints.bicep', 'privateEndpoints')).toBe(true);
});

test('Cosmos DB gets one change at a time: containers, role definitions, assignments', () => {
  expect(oneAtATime('modules/cosmos.bicep', 'sqlContainers')).toBe(true);
  expect(oneAtATime('modules/cosmos.bicep', 'roleAssignments')).toBe(true);
  const waitsFor = (resource: string) =>
    /^ {2}dependsOn: \[(\w+)\]$/m.exec(cosmos.resources.get(resource)?.body.text ?? '')?.[1];
  expect(waitsFor('metadataReader')).toBe('sqlContainers');
  expect(waitsFor('auditAppender')).toBe('metadataReader');
  // The assignments name both definitions, so they come after the second.
  expect(cosmos.vars.get('roles')?.value?.text).toContain('auditAppender.id');
});

describe('the official Service Bus emulator takes our queues', () => {
  // https://learn.microsoft.com/azure/service-bus-messaging/overview-emulator#usage-quotas
  const longestSeconds = {
    LockDuration: 300,
    DuplicateDetectionHistoryTimeWindow: 300,
    DefaultMessageTimeToLive: 3600,
  };
  const config = z
    .object({
      UserConfig: z.object({
        Namespaces: z.tuple([
          z.object({
            Queues: z.array(z.object({ Name: z.string(), Properties: z.record(z.string(), z.unknown()) })),
          }),
        ]),
      }),
    })
    .parse(JSON.parse(readFileSync(join(root, 'local/serviceBusConfig.json'), 'utf8')));
  const queues = config.UserConfig.Namespaces[0].Queues;

  test.each(queues)('$Name', ({ Properties }) => {
    for (const [name, longest] of Object.entries(longestSeconds)) {
      const given = Properties[name];
      if (given !== undefined)
        expect({ name, seconds: seconds(z.string().parse(given)) <= longest }).toEqual({
          name,
          seconds: true,
        });
    }
    expect(z.number().parse(Properties.MaxDeliveryCount)).toBeLessThanOrEqual(10);
  });

  test('there is a window to check', () => {
    expect(queues[0]?.Properties).toHaveProperty('DuplicateDetectionHistoryTimeWindow');
  });
});

test('azd is new enough to leave the package alone: older ones build on the plan', () => {
  const azd = z
    .object({ requiredVersions: z.object({ azd: z.string() }), services: z.object({ payonce: z.unknown() }) })
    .parse(parse(readFileSync(join(root, 'azure.yaml'), 'utf8')));
  const [, minor = 0, patch = 0] = (/^>= 1\.(\d+)\.(\d+)$/.exec(azd.requiredVersions.azd) ?? []).map(Number);
  expect(minor * 100 + patch).toBeGreaterThanOrEqual(23 * 100 + 5);
  expect(azd.services.payonce).toMatchObject({ remoteBuild: false });
});

test.each(Object.values(containers))(
  '$name indexes its partition key, on which queries filter',
  (container) => {
    expect(container.indexed).toContain(`${container.partitionKey}/?`);
  },
);

test.each([
  [
    'modules/cosmos.bicep',
    'account',
    'zoneRedundant',
    true,
    { properties: { locations: [{ isZoneRedundant: true }] } },
  ],
  ['modules/functionApp.bicep', 'plan', 'zoneRedundant', true, { properties: { zoneRedundant: true } }],
  [
    'modules/functionApp.bicep',
    'app',
    'instanceMemory',
    4096,
    { properties: { functionAppConfig: { scaleAndConcurrency: { instanceMemoryMB: 4096 } } } },
  ],
] as const)('%s: %s follows %s', (module, resource, name, value, expected) => {
  expect(bodyValue(readInfra(module), resource, { [name]: value })).toMatchObject(expected);
});

test.each([
  ['cosmos', 'zoneRedundant: cosmosZoneRedundant'],
  ['functionApp', 'zoneRedundant: planZoneRedundant'],
  ['functionApp', 'instanceMemory: instanceMemory'],
])('main passes %s its %s', (module, line) => {
  expect(main.modules.get(module)?.body.text).toContain(`\n    ${line}\n`);
});

test('a restored account changes its backup tier in a request of its own', () => {
  const how = readFileSync(join(root, 'docs/deploy.md'), 'utf8').split('### How to restore')[1] ?? '';
  const tier = z
    .object({
      properties: z.object({
        backupPolicy: z.object({ continuousModeProperties: z.object({ tier: z.string() }) }),
      }),
    })
    .parse(bodyValue(cosmos, 'account', { backupDays: 7 })).properties.backupPolicy
    .continuousModeProperties.tier;
  const change = how.indexOf(`az cosmosdb update -g GROUP -n NEW --continuous-tier ${tier}`);
  expect(change).toBeGreaterThan(how.indexOf('az cosmosdb restore'));
  expect(change).toBeLessThan(how.indexOf('PAYONCE_COSMOS_ACCOUNT_NAME=NEW'));
});

/** `PT5M` in seconds. Hours, minutes and seconds only. */
function seconds(duration: string): number {
  const [, hours = '0', minutes = '0', rest = '0'] =
    /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$/.exec(duration) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
}
