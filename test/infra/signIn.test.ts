import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpRoutes } from '../support/httpRoutes.ts';
import { bodyValue } from './bicep/bodyValue.ts';
import { readInfra } from './bicep/readBicep.ts';
import { root } from './sources.ts';

/** The Azure CLI's client id, the default in main. */
const cli = '04b07795-8ddb-461a-bbee-02f9e1bf7b46';
const functionApp = readInfra('modules/functionApp.bicep');
const settings = (opsClientId: string, opsGroupIds: string[] = []) =>
  bodyValue(functionApp, 'authentication', { opsClientId, opsGroupIds, opsAllowedApplications: [cli] });

describe('the sign-in for ops', () => {
  test('is required if there is an app registration', () => {
    const id = '11111111-2222-3333-4444-555555555555';
    expect(settings(id, ['a', 'b'])).toMatchObject({
      name: 'authsettingsV2',
      properties: {
        platform: { enabled: true },
        globalValidation: { requireAuthentication: true, unauthenticatedClientAction: 'Return401' },
        identityProviders: {
          azureActiveDirectory: {
            enabled: true,
            registration: { clientId: id },
            validation: {
              allowedAudiences: [`api://${id}`, id],
              defaultAuthorizationPolicy: {
                allowedApplications: [id, cli],
                allowedPrincipals: { groups: ['a', 'b'] },
              },
            },
          },
        },
      },
    });
    expect(settings(id)).toMatchObject({
      properties: {
        identityProviders: {
          azureActiveDirectory: {
            validation: { defaultAuthorizationPolicy: { allowedApplications: [id, cli] } },
          },
        },
      },
    });
  });

  test('names the Azure CLI by default, which docs/deploy.md uses', () => {
    expect(readInfra('main.bicep').params.get('opsAllowedApplications')?.value?.text).toBe(`['${cli}']`);
    expect(readFileSync(join(root, 'docs/deploy.md'), 'utf8')).toContain(cli);
  });

  test.each(['', '11111111-2222-3333-4444-555555555555'])(
    'leaves the dashboard’s page and the route of the provider’s events open, and no other (client id %j)',
    (id) => {
      const routes = httpRoutes().filter(({ open }) => open);
      const open = routes.map(({ path }) => path).toSorted();
      const paths = open.flatMap((path) => {
        const base = `/api/${path.replace('/{*path}', '')}`;
        return path.endsWith('{*path}') ? [base, `${base}/*`] : [base];
      });
      expect(settings(id)).toMatchObject({ properties: { globalValidation: { excludedPaths: paths } } });
      expect(open).toEqual(['ops/ui/{*path}', 'payments/events']);
    },
  );

  test('is switched off if there is none: settings from an earlier deployment do not remain', () => {
    expect(settings('')).toMatchObject({
      name: 'authsettingsV2',
      properties: {
        platform: { enabled: false },
        globalValidation: { requireAuthentication: false, unauthenticatedClientAction: 'AllowAnonymous' },
        identityProviders: {},
      },
    });
    // Unconditional: the resource is always deployed.
    expect(functionApp.resources.get('authentication')?.value?.type).toBe('object');
  });
});
