import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cron } from 'croner';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { regionName } from '../../scripts/deployment/target.ts';
import { bodyValue } from './bicep/bodyValue.ts';
import { evaluate, type Value, variableValue } from './bicep/evaluate.ts';
import { infraDir, readInfra } from './bicep/readBicep.ts';
import { readSchemas } from './bicep/schemas.ts';
import { root } from './sources.ts';

const schemas = readSchemas();
const main = readInfra('main.bicep');
const file = readInfra('main.bicepparam');
const text = readFileSync(join(infraDir, 'main.bicepparam'), 'utf8');
const set = [...text.matchAll(/^param (\w+) =/gm)].map(([, name = '']) => name);
/** Environment variables that set parameters. */
const variables = [...text.matchAll(/readEnvironmentVariable\('(\w+)'/g)].map(([, name = '']) => name);
const own = variables.filter((name) => name.startsWith('PAYONCE_')).toSorted();

const defaultInMain = (name: string): Value | undefined => {
  const value = main.params.get(name)?.value;
  return value === undefined ? undefined : evaluate(value, main);
};

describe('the parameter file', () => {
  test('sets every parameter of main: a pipeline could not set one that is missing here', () => {
    expect(set.toSorted()).toEqual([...main.params.keys()].toSorted());
  });

  test.each(set)('%s: an unset or empty environment variable gives the default in main', (name) => {
    const nothing = Object.fromEntries(own.map((variable) => [`$${variable}`, '']));
    const expected = defaultInMain(name);
    for (const environment of [{}, nothing]) {
      const value = variableValue(file, name, environment);
      if (expected === undefined) expect(value).toEqual(expect.stringMatching(/./));
      else expect(value).toEqual(expected);
    }
  });

  test.each<[string, string, string, Value]>([
    ['shards', 'PAYONCE_SHARDS', '64', 64],
    ['privateNetworking', 'PAYONCE_PRIVATE_NETWORKING', 'true', true],
    ['opsGroupIds', 'PAYONCE_OPS_GROUP_IDS', 'a,b', ['a', 'b']],
    ['invoiceSchedule', 'PAYONCE_INVOICE_SCHEDULE', '0 0 * * * *', '0 0 * * * *'],
    ['storageSku', 'PAYONCE_STORAGE_SKU', 'Standard_LRS', 'Standard_LRS'],
    ['cosmosAccountName', 'PAYONCE_COSMOS_ACCOUNT_NAME', 'restored', 'restored'],
    ['cosmosZoneRedundant', 'PAYONCE_COSMOS_ZONE_REDUNDANT', 'true', true],
    ['resourceLocks', 'PAYONCE_RESOURCE_LOCKS', 'false', false],
    ['monthlyBudget', 'PAYONCE_MONTHLY_BUDGET', '50', 50],
    ['budgetStart', 'PAYONCE_BUDGET_START', '2026-12-01', '2026-12-01'],
    ['developerPrincipalId', 'PAYONCE_DEVELOPER_PRINCIPAL_ID', 'id', 'id'],
    ['planZoneRedundant', 'PAYONCE_PLAN_ZONE_REDUNDANT', 'true', true],
    ['instanceMemory', 'PAYONCE_INSTANCE_MEMORY', '4096', 4096],
    ['opsAllowedApplications', 'PAYONCE_OPS_ALLOWED_APPLICATIONS', 'a,b', ['a', 'b']],
  ])('%s comes from %s', (name, variable, given, value) => {
    expect(variableValue(file, name, { [`$${variable}`]: given })).toEqual(value);
  });

  test.each(set)('%s comes from the variable with the matching name', (name) => {
    const expected = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    const others = [
      'AZURE_ENV_NAME',
      'AZURE_LOCATION',
      'STRIPE_SECRET_KEY',
      'STRIPE_WEBHOOK_SECRETS',
      'NOTIFY_WEBHOOK_SECRET',
    ];
    const line = text
      .split('\n')
      .filter((candidate) => new RegExp(`^(param|  )\\s*${name}( =|:)`).test(candidate));
    const named = line.join('\n').match(/readEnvironmentVariable\('(\w+)'/)?.[1] ?? '';
    if (!others.includes(named)) expect(named).toBe(`PAYONCE_${expected}`);
  });
});

test('one environment in one region has one set of names, however both are spelled', () => {
  for (const [environmentName, location] of [
    ['test', 'westeurope'],
    ['Test', 'West Europe'],
    ['TEST', 'WestEurope'],
  ] as const) {
    expect(variableValue(main, 'environmentKey', { environmentName })).toBe('test');
    expect(variableValue(main, 'region', { location })).toBe('westeurope');
    expect(regionName(location)).toBe('westeurope');
  }
  // Whatever is named, is named after these two.
  expect(main.vars.get('token')?.value?.text).toContain(
    'uniqueString(subscription().id, environmentKey, region)',
  );
  expect(main.root.text).toContain(`name: 'rg-payonce-\${environmentKey}'`);
  expect(main.root.text).not.toMatch(/^ {2,}location: location$/m);
});

test('storageSku allows only values that Azure knows, and reaches the account', () => {
  const declaration = /@allowed\(\[([^\]]*)\]\)\nparam storageSku /.exec(main.root.text)?.[1] ?? '';
  const allowed = [...declaration.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
  expect(allowed).toEqual(expect.arrayContaining(['Standard_LRS', defaultInMain('storageSku')]));
  const known = schemas.get('Microsoft.Storage/storageAccounts@2025-01-01')?.types.Sku?.[0]?.properties.name;
  expect(known?.split(' | ')).toEqual(expect.arrayContaining(allowed));
  const account = bodyValue(readInfra('modules/storage.bicep'), 'account', { sku: 'Standard_GRS' });
  expect(account).toMatchObject({ sku: { name: 'Standard_GRS' } });
  expect(main.modules.get('storage')?.body.text).toMatch(/^ {4}sku: storageSku$/m);
});

test('the default interval matches the default schedule', () => {
  const schedule = new Cron(z.string().parse(defaultInMain('invoiceSchedule')), { timezone: 'UTC' });
  const runs = schedule.nextRuns(50, '2026-01-01T00:00:00Z').map((date) => date.getTime());
  const gaps = new Set(runs.slice(1).map((at, index) => (at - (runs[index] ?? 0)) / 1000));
  expect([...gaps]).toEqual([defaultInMain('invoiceIntervalSeconds')]);
});

describe.each([
  ['deploy.yml', 'deploy'],
  ['infra.yml', 'what-if'],
])('the pipeline %s', (workflow, job) => {
  test('passes every parameter: a missing one would revert to its default', () => {
    const shape = z.object({ env: z.record(z.string(), z.string()) });
    const { jobs } = z
      .object({ jobs: z.record(z.string(), z.unknown()) })
      .parse(parse(readFileSync(join(root, '.github/workflows', workflow), 'utf8')));
    const { env } = shape.parse(jobs[job]);
    expect(env).toEqual(
      Object.fromEntries(
        ['AZURE_ENV_NAME', 'AZURE_LOCATION', ...own].map((name) => [name, `\${{ vars.${name} }}`]),
      ),
    );
  });
});
