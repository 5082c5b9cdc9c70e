import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bodyValue } from './bicep/bodyValue.ts';
import { appBicepPaths, bicepPaths, readInfra } from './bicep/readBicep.ts';
import { rolesOf } from './bicep/rolesOf.ts';
import { root } from './sources.ts';

const docs = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const main = readInfra('main.bicep');

describe('what must not be deleted', () => {
  test.each(['modules/storage.bicep', 'modules/cosmos.bicep'])('%s locks its account', (path) => {
    const file = readInfra(path);
    expect(bodyValue(file, 'lock')).toMatchObject({
      name: 'payonce-data',
      properties: { level: 'CanNotDelete' },
    });
    const text = file.resources.get('lock')?.node.text ?? '';
    expect(text).toContain(' = if (locked) {');
    expect(text).toMatch(/^ {2}scope: account$/m);
  });

  test('is locked unless a parameter says otherwise, and the quick start says how to remove the locks', () => {
    expect(main.params.get('resourceLocks')?.value?.text).toBe('true');
    for (const name of ['storage', 'cosmos'])
      expect(main.modules.get(name)?.body.text).toMatch(/^ {4}locked: resourceLocks$/m);
    const removal = docs.split('**6. Remove it all.**')[1] ?? '';
    expect(removal.indexOf('az lock delete')).toBeGreaterThan(-1);
    expect(removal.indexOf('az lock delete')).toBeLessThan(removal.indexOf('azd down'));
  });
});

describe('the logs of', () => {
  test.each([
    ['modules/keyVault.bicep', [{ categoryGroup: 'audit', enabled: true }]],
    ['modules/cosmos.bicep', [{ category: 'ControlPlaneRequests', enabled: true }]],
    ['modules/serviceBus.bicep', [{ category: 'OperationalLogs', enabled: true }]],
    ['modules/functionApp.bicep', [{ category: 'AppServiceAuthenticationLogs', enabled: true }]],
    [
      'modules/storage.bicep',
      [
        { category: 'StorageDelete', enabled: true },
        { category: 'StorageRead', enabled: false },
        { category: 'StorageWrite', enabled: false },
      ],
    ],
  ])('%s go to the workspace', (path, logs) => {
    expect(
      bodyValue(readInfra(path), 'diagnostics', { workspaceId: 'w', dataAccessLogs: false }),
    ).toMatchObject({
      properties: { workspaceId: 'w', logs },
    });
  });
});

test('archived invoices and receipts can be made immutable, and are not unless told', () => {
  const storage = readInfra('modules/storage.bicep');
  expect(storage.resources.get('immutable')?.value?.text).toContain(
    "for container in ['archive', 'receipts']: if (immutableDays > 0) {",
  );
  expect(main.params.get('immutableDays')?.value?.text).toBe('0');
  expect(bodyValue(storage, 'account')).toMatchObject({ properties: { allowCrossTenantReplication: false } });
});

test.each([7, 30])('the database can be restored to any second of %i days', (backupDays) => {
  expect(
    bodyValue(readInfra('modules/cosmos.bicep'), 'account', { backupDays, autoscaleMaxRu: 0 }),
  ).toMatchObject({
    properties: { backupPolicy: { continuousModeProperties: { tier: `Continuous${backupDays}Days` } } },
  });
});

test('a budget tells before it is spent, and by its forecast', () => {
  const budget = readInfra('modules/budget.bicep');
  const given = { amount: 50, start: '2026-12-01', alertEmail: 'on-call@example.com' };
  expect(bodyValue(budget, 'budget', given)).toMatchObject({
    properties: {
      amount: 50,
      timePeriod: { startDate: '2026-12-01' },
      notifications: {
        spent: { threshold: 80, thresholdType: 'Actual', contactEmails: ['on-call@example.com'] },
        expected: { threshold: 100, thresholdType: 'Forecasted' },
      },
    },
  });
  expect(main.root.text).toContain("module budget 'modules/budget.bicep' = if (monthlyBudget > 0) {");
});

describe('the identity of the pipeline', () => {
  const read = (name: string) => readFileSync(join(root, 'infra/setup', name), 'utf8');
  const subscription = read('subscription.sh');
  const setup = read('deploy-identity.sh');
  const [, listed = ''] = /^ROLES="([^"]+)"/m.exec(setup) ?? [];
  const condition = (/--condition "([^"]+)"/.exec(setup)?.[1] ?? '').replaceAll('$ROLES', listed);
  /** Roles that the script of the subscription creates: `for ROLE in deployments locks; do`. */
  const definitions = (/^for ROLE in (.*); do$/m.exec(subscription)?.[1] ?? '')
    .split(' ')
    .map((name) =>
      z
        .object({ Name: z.string(), AssignableScopes: z.tuple([z.string()]), Actions: z.array(z.string()) })
        .parse(JSON.parse(read(`role-${name}.json`))),
    );
  const guid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

  test('is no owner', () => {
    expect(setup).not.toMatch(/--role Owner/);
    expect(setup).toContain('--role Contributor');
  });

  test('can do nothing outside its resource group but start deployments', () => {
    const scopes = [...setup.matchAll(/^assign --role ("[^"]+"|\S+) --scope "(\S+)"/gm)];
    expect(scopes.map(([, role, scope]) => `${role} ${scope}`)).toEqual([
      '"payonce deployments" /subscriptions/$SUBSCRIPTION',
      'Contributor $GROUP',
      '"payonce locks" $GROUP',
      '"Role Based Access Control Administrator" $GROUP',
    ]);
    const deployments = definitions.find(({ Name }) => Name === 'payonce deployments');
    expect(deployments?.Actions).toEqual([
      'Microsoft.Resources/deployments/*',
      'Microsoft.Resources/subscriptions/operationresults/read',
      'Microsoft.Web/geoRegions/read',
    ]);
  });

  test('does not have to register what the template uses', () => {
    const [, named = ''] = /^for NAMESPACE in (.*); do$/m.exec(subscription) ?? [];
    const used = bicepPaths()
      .flatMap((path) => [...readInfra(path).root.text.matchAll(/'Microsoft\.(\w+)\/[\w/]+@/g)])
      .map(([, namespace = '']) => namespace)
      .filter((namespace) => !['Authorization', 'Resources'].includes(namespace));
    // The app's subnet is delegated to it.
    expect(named.split(' ')).toEqual([...new Set([...used, 'App'])].toSorted());
  });

  test('assigns and removes exactly the Azure roles that the template assigns to the app', () => {
    const assigned = appBicepPaths()
      .flatMap((path) => rolesOf(readInfra(path)))
      .map(({ id }) => id)
      .filter((id) => /^[\da-f-]{36}$/.test(id));
    const [write = '', remove = ''] = condition.split(' AND ((!(ActionMatches');
    for (const half of [write, remove]) {
      expect(new Set(half.match(guid))).toEqual(new Set(assigned));
    }
    expect(write).toContain("'Microsoft.Authorization/roleAssignments/write'");
    expect(remove).toContain("'Microsoft.Authorization/roleAssignments/delete'");
    expect(write).toContain('@Request[');
    expect(remove).toContain('@Resource[');
  });

  test('sets locks, and cannot remove them', () => {
    expect(definitions.find(({ Name }) => Name === 'payonce locks')?.Actions).toEqual([
      'Microsoft.Authorization/locks/read',
      'Microsoft.Authorization/locks/write',
    ]);
  });
});
