import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bicepPaths, readInfra } from './bicep/readBicep.ts';
import { root } from './sources.ts';

const role = z
  .strictObject({
    Name: z.string(),
    AssignableScopes: z.tuple([z.string()]),
    Actions: z.array(z.string()),
    NotActions: z.array(z.string()),
  })
  .parse(JSON.parse(readFileSync(join(root, 'infra/setup/role-what-if.json'), 'utf8')));

/** True if a pattern matches an action; `*` matches any text. Azure ignores case. */
function fits(pattern: string, action: string): boolean {
  const text = pattern.replace(/[.]/g, String.raw`\.`).replaceAll('*', '.*');
  return new RegExp(`^${text}$`, 'i').test(action);
}

function allows(
  { Actions, NotActions }: Pick<typeof role, 'Actions' | 'NotActions'>,
  action: string,
): boolean {
  return (
    Actions.some((pattern) => fits(pattern, action)) && !NotActions.some((pattern) => fits(pattern, action))
  );
}

/**
 * Read permissions that return a key, a setting or log contents, as Microsoft lists them
 * (https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations).
 */
const sensitiveReads = [
  'Microsoft.Web/sites/hostruntime/host/_master/read',
  'microsoft.web/sites/hostruntime/functions/keys/read',
  'microsoft.web/sites/functions/masterkey/read',
  'microsoft.web/sites/functions/token/read',
  'microsoft.web/sites/publishxml/read',
  'microsoft.web/sites/config/appsettings/read',
  'microsoft.web/sites/config/web/appsettings/read',
  'microsoft.web/sites/config/web/connectionstrings/read',
  'microsoft.web/sites/config/snapshots/read',
  'microsoft.web/sites/extensions/read',
  'microsoft.web/sites/instances/extensions/log/read',
  'microsoft.web/sites/processes/read',
  'microsoft.web/sites/slots/config/appsettings/read',
  'Microsoft.DocumentDB/databaseAccounts/readonlykeys/read',
  'Microsoft.OperationalInsights/workspaces/query/read',
  'Microsoft.OperationalInsights/workspaces/query/AppTraces/read',
  'Microsoft.OperationalInsights/workspaces/tables/query/read',
  'Microsoft.OperationalInsights/workspaces/listKeys/read',
  'Microsoft.OperationalInsights/workspaces/sharedKeys/read',
  'Microsoft.Insights/Components/Api/Read',
  'Microsoft.Insights/Components/ExtendQueries/Read',
  'Microsoft.Insights/Components/GetToken/Read',
  'Microsoft.Insights/Components/Query/Read',
  'Microsoft.Insights/generateLiveToken/Read',
  'Microsoft.Insights/Logs/Read',
  'Microsoft.Insights/Logs/AppTraces/Read',
];

describe('the pull request role', () => {
  test('allows reads and what-if only', () => {
    expect(role.Actions).toEqual([
      '*/read',
      'Microsoft.Resources/deployments/whatIf/action',
      'Microsoft.Resources/deployments/validate/action',
    ]);
  });

  test.each(sensitiveReads)('excludes %s', (action) => {
    expect(allows({ ...role, NotActions: [] }, action)).toBe(true);
    expect(allows(role, action)).toBe(false);
  });

  test('every exclusion covers one of these', () => {
    const idle = role.NotActions.filter((pattern) => !sensitiveReads.some((action) => fits(pattern, action)));
    expect(idle).toEqual([]);
  });

  test('allows reading every resource type in infra/: what-if compares with it', () => {
    const types = bicepPaths().flatMap((path) =>
      [...readInfra(path).resources.values()].map(({ type }) => type.split('@')[0] ?? ''),
    );
    expect(new Set(types).size).toBeGreaterThan(20);
    expect(types.filter((type) => !allows(role, `${type}/read`))).toEqual([]);
  });
});
