import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { checkTarget, rolesToAskFor, type Target } from '../../../scripts/deployment/target.ts';
import { appBicepPaths, readInfra } from '../../infra/bicep/readBicep.ts';
import { rolesOf } from '../../infra/bicep/rolesOf.ts';
import { removeFolder } from '../../support/removeFolder.ts';
import { runProgram } from '../../support/runProgram.ts';

const contributor = {
  actions: ['*'],
  notActions: [
    'Microsoft.Authorization/*/Delete',
    'Microsoft.Authorization/*/Write',
    'Microsoft.Blueprint/*',
  ],
};
const owner = { actions: ['*'], notActions: [] };
const accessAdministrator = {
  actions: [
    'Microsoft.Authorization/roleAssignments/write',
    'Microsoft.Authorization/roleAssignments/delete',
  ],
  notActions: [],
};
const locks = {
  actions: ['Microsoft.Authorization/locks/read', 'Microsoft.Authorization/locks/write'],
  notActions: [],
};

const wanted: Target = {
  subscription: 's',
  environment: 'Test',
  location: 'westeurope',
  roleAssignments: true,
  resourceLocks: true,
  storageSku: 'Standard_ZRS',
};

interface Azure {
  regions?: string[];
  /** Groups that exist, with their apps. */
  groups?: Readonly<Record<string, readonly string[]>>;
  roles?: { actions: string[]; notActions: string[] }[];
}

function answer(path: string, { regions, groups = {}, roles = [owner] }: Azure): unknown {
  if (path.includes('/Microsoft.Web/geoRegions?sku=FlexConsumption&'))
    return { value: (regions ?? ['West Europe', 'UK West', 'Sweden Central']).map((name) => ({ name })) };
  if (path.includes('/Microsoft.Authorization/permissions?')) return { value: roles };
  const [, group = ''] = /\/resourceGroups\/([\w-]+)\/providers\/Microsoft.Web\/sites\?/.exec(path) ?? [];
  return groups[group] === undefined ? undefined : { value: groups[group].map((name) => ({ name })) };
}

const check = (target: Partial<Target>, azure: Azure = {}) =>
  checkTarget({ ...wanted, ...target }, async (path) => answer(path, azure));

describe('the target of a deployment', () => {
  test.each(['westeurope', 'West Europe', 'WestEurope'])(
    'is ready in %s, however it is spelled',
    async (location) => {
      expect(await check({ location })).toEqual({ kind: 'ready', first: true });
    },
  );

  test('is known, however its environment is spelled', async () => {
    expect(await check({}, { groups: { 'rg-payonce-test': ['func-1'] } })).toEqual({
      kind: 'ready',
      first: false,
    });
  });

  test('is refused in a region without the plan, and told the regions that have it', async () => {
    expect(await check({ location: 'westus' })).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(/^westus does not offer .* Sweden Central, UK West, West Europe$/),
    });
  });

  test('is refused in a region without zones, unless its storage needs none', async () => {
    expect(await check({ location: 'UK West' })).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('PAYONCE_STORAGE_SKU'),
    });
    expect(await check({ location: 'UK West', storageSku: 'Standard_LRS' })).toMatchObject({ kind: 'ready' });
  });

  test('is refused to a contributor, who is told what to ask for and how to go on', async () => {
    const refused = await check({}, { roles: [contributor] });
    expect(refused).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('PAYONCE_ROLE_ASSIGNMENTS=false'),
    });
    expect(refused).toMatchObject({ why: expect.stringContaining('PAYONCE_RESOURCE_LOCKS=false') });
    for (const role of rolesToAskFor) expect(refused).toMatchObject({ why: expect.stringContaining(role) });
    expect(
      await check({ roleAssignments: false, resourceLocks: false }, { roles: [contributor] }),
    ).toMatchObject({
      kind: 'ready',
    });
  });

  test('is ready for the roles of the pipeline: what one role excludes, another grants', async () => {
    expect(await check({}, { roles: [contributor, accessAdministrator, locks] })).toMatchObject({
      kind: 'ready',
    });
  });
});

test('the list of roles to ask for is that of the template', () => {
  const assigned = appBicepPaths()
    .flatMap((path) => rolesOf(readInfra(path)))
    // Roles of Cosmos DB are its own: a contributor may assign them.
    .filter(({ id }) => /^[\da-f-]{36}$/.test(id))
    .map(({ name }) => name);
  const listed = rolesToAskFor.flatMap((line) => (/: (.*) on /.exec(line)?.[1] ?? '').split(', '));
  expect(listed.toSorted()).toEqual(assigned.toSorted());
});

describe('npm run check-target', () => {
  const program = fileURLToPath(new URL('../../../scripts/deployment/checkTarget.ts', import.meta.url));
  const given = {
    PATH: process.env.PATH,
    AZURE_SUBSCRIPTION_ID: 's',
    AZURE_ENV_NAME: 'test',
    AZURE_LOCATION: 'westeurope',
  };

  async function run(azure: Azure, env: Record<string, string> = {}) {
    const server = createServer(({ url = '' }, response) => {
      const body = answer(url, azure);
      response.statusCode = body === undefined ? 404 : 200;
      response.end(JSON.stringify(body ?? {}));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const folder = mkdtempSync(join(tmpdir(), 'check-target-'));
    const later = join(folder, 'env');
    writeFileSync(later, '');
    try {
      const result = await runProgram(program, [], {
        ...given,
        AZURE_RESOURCE_MANAGER: `http://127.0.0.1:${port}`,
        GITHUB_ENV: later,
        ...env,
      });
      return { ...result, later: readFileSync(later, 'utf8') };
    } finally {
      server.close();
      await removeFolder(folder);
    }
  }

  test('silences the alerts for two hours if nothing exists yet', async () => {
    const { code, later } = await run({});
    expect(code).toBe(0);
    const [, until = ''] = /^PAYONCE_ALERTS_QUIET_UNTIL=(.*)\n$/.exec(later) ?? [];
    const hours = (Date.parse(until) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(1.9);
    expect(hours).toBeLessThanOrEqual(2);
  });

  test('silences the alerts in a group that somebody has made for the deployment, and after a time of long ago', async () => {
    const until = expect.stringContaining('PAYONCE_ALERTS_QUIET_UNTIL=');
    expect(await run({ groups: { 'rg-payonce-test': [] } })).toMatchObject({ code: 0, later: until });
    expect(await run({}, { PAYONCE_ALERTS_QUIET_UNTIL: '2020-12-01T00:00:00Z' })).toMatchObject({
      later: until,
    });
  });

  test('says how to silence them where no later step takes it over', async () => {
    const { output } = await run({}, { GITHUB_ENV: '' });
    expect(output).toMatch(/PAYONCE_ALERTS_QUIET_UNTIL=\S+ would silence/);
  });

  test('silences nothing later, or if a time to come is set', async () => {
    expect(await run({ groups: { 'rg-payonce-test': ['func-1'] } })).toMatchObject({ code: 0, later: '' });
    expect(await run({}, { PAYONCE_ALERTS_QUIET_UNTIL: '2120-12-01T00:00:00Z' })).toMatchObject({
      code: 0,
      later: '',
    });
  });

  test('stops a deployment that cannot work', async () => {
    const { code, output } = await run({}, { AZURE_LOCATION: 'westus' });
    expect(code).toBe(1);
    expect(output).toContain('Nothing has been created');
  });

  test('stops nothing if it cannot ask', async () => {
    expect(await run({}, { AZURE_LOCATION: '' })).toMatchObject({ code: 0 });
    const nobody = { AZURE_RESOURCE_MANAGER: 'http://127.0.0.1:1' };
    expect(await run({}, nobody)).toMatchObject({ code: 0, output: expect.stringContaining('not checked') });
  });
});
