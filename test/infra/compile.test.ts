import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { findProgram } from '../support/servers/findProgram.ts';
import { infraDir } from './bicep/readBicep.ts';

/** The compiler, from PATH, `az bicep install` or `.ci/install-bicep`. */
const bicep = findProgram('bicep', [
  join(homedir(), '.azure/bin'),
  join(homedir(), '.nuget/packages/azure.bicep.commandline.linux-x64/*/tools'),
]);

// infra.yml compiles with az on every pull request, so a machine without the compiler may skip this.
test.skipIf(bicep === undefined).each([
  ['build', 'main.bicep', '--stdout'],
  ['build-params', 'main.bicepparam', '--stdout'],
  ['lint', 'main.bicep'],
])('bicep %s %s: no error and no warning', { timeout: 180_000 }, (command, file, ...options) => {
  const { status, stderr } = spawnSync(bicep ?? '', [command, join(infraDir, file), ...options], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1' },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

const subnet = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets';
/** Parameters that change what is created. */
const choices: Readonly<Record<string, string>>[] = [
  {},
  { PAYONCE_PRIVATE_NETWORKING: 'true' },
  { PAYONCE_PRIVATE_NETWORKING: 'true', PAYONCE_NAT_GATEWAY: 'true', PAYONCE_PRIVATE_INBOUND: 'true' },
  {
    PAYONCE_PRIVATE_NETWORKING: 'true',
    PAYONCE_APP_SUBNET_ID: `${subnet}/a`,
    PAYONCE_ENDPOINT_SUBNET_ID: `${subnet}/e`,
    PAYONCE_PRIVATE_DNS_ZONES: 'none',
  },
  { PAYONCE_ALLOWED_ADDRESSES: '203.0.113.0/24,198.51.100.0/24' },
];
const others: Readonly<Record<string, string>>[] = [
  {},
  { PAYONCE_ROLE_ASSIGNMENTS: 'false', PAYONCE_RESOURCE_LOCKS: 'false' },
  { PAYONCE_IMMUTABLE_DAYS: '365', PAYONCE_DATA_ACCESS_LOGS: 'true', PAYONCE_COSMOS_BACKUP_DAYS: '30' },
  { PAYONCE_INSTANCE_MEMORY: '4096', PAYONCE_ALERTS_QUIET_UNTIL: '2026-12-01T14:00:00Z' },
];

/** Each choice with one of the others: the compiler looks at each parameter by itself, and each value is there once. */
const combined = choices.map((choice, index) => ({ ...choice, ...others[index % others.length] }));

test.skipIf(bicep === undefined).each(combined)(
  'the parameters compile: %j',
  { timeout: 180_000 },
  (given) => {
    const { status, stderr, stdout } = spawnSync(
      bicep ?? '',
      ['build-params', join(infraDir, 'main.bicepparam'), '--stdout'],
      {
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
        env: { ...process.env, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1', ...given },
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { parametersJson } = z.object({ parametersJson: z.string() }).parse(JSON.parse(stdout));
    expect(parametersJson).toContain(
      `"roleAssignments": {\n      "value": ${!('PAYONCE_ROLE_ASSIGNMENTS' in given)}`,
    );
  },
);
